import test from 'ava';
import { user, type Chunk } from '../servers/client.ts';
import { openGate } from '../servers/gate.ts';
import { codeOf, serve } from './service.ts';

const { url, send, stream, refused, data } = serve(test);
const gated = serve(test, 'gated', { STREAM_COMMENT_SECONDS: '1' });

const post = (base: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${base}/v1/graph/stream`, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', ...headers },
  });

const kindsOf = (chunks: readonly Chunk[]): string[] => [...new Set(chunks.map(({ event }) => event))];

test('a stream is told by its headers, and its events are numbered from 1', async (t) => {
  const response = await post(url(), { messages: [user('hello')] });
  t.is(response.status, 200);
  t.regex(response.headers.get('content-type') ?? '', /^text\/event-stream/);
  t.is(response.headers.get('cache-control'), 'no-store, no-transform');
  t.is(response.headers.get('x-accel-buffering'), 'no');
  const events = (await response.text()).trimEnd().split('\n\n');
  const first = /^id: ([0-9a-f-]{36}):1\nevent: metadata\ndata: (\{.*\})$/.exec(events[0] ?? '');
  const runId = first?.[1] ?? '';
  const chunk = JSON.parse(first?.[2] ?? '') as Chunk & { run_id: string };
  t.is(chunk.run_id, runId);
  t.is((chunk.data as Record<string, unknown>)['request_id'], response.headers.get('x-request-id'));
  events.forEach((event, index) => {
    t.true(event.startsWith(`id: ${runId}:${String(index + 1)}\n`), event);
  });
});

test('the pieces joined are the message, which comes whole once, and the end is what invoke answers', async (t) => {
  const chunks = await Array.fromAsync(stream({ messages: [user('hello')], config: { thread_id: 'streamed' } }));
  t.is(chunks[0]?.event, 'metadata');
  t.is(chunks[1]?.event, 'on_chain_start');
  t.is(chunks.at(-1)?.event, 'on_chain_end');
  const parts = chunks.filter(({ event }) => event === 'messages_chunk');
  t.is(parts.map((chunk) => chunk.data as string).join(''), 'you said hello');
  t.is(parts.filter((chunk) => chunk.message).length, 1);
  t.like(chunks.at(-1)?.data, { iterations: 1, meta: { thread_id: 'streamed', status: 'completed' } });
});

test('low is the default; partial adds state and context, full the summary', async (t) => {
  const at = async (granularity?: string): Promise<string[]> =>
    kindsOf(
      await Array.fromAsync(
        stream({ messages: [user('x')], ...(granularity && { response_granularity: granularity }) }),
      ),
    );
  const low = await at();
  t.deepEqual(
    low.filter((kind) => /state|context|summary/.test(kind)),
    [],
  );
  t.deepEqual(await at('low'), low);
  const partial = await at('partial');
  t.true(partial.includes('state_chunk') && partial.includes('context_chunk') && !partial.includes('summary_chunk'));
  t.true((await at('full')).includes('state_chunk'));
});

test('NDJSON is the same chunks, one a line, for who asks for it first', async (t) => {
  const response = await post(
    url(),
    { messages: [user('hello')] },
    { accept: 'application/x-ndjson, text/event-stream' },
  );
  t.regex(response.headers.get('content-type') ?? '', /^application\/x-ndjson/);
  const lines = (await response.text()).trimEnd().split('\n');
  const chunks = lines.map((line) => JSON.parse(line) as Chunk);
  t.is(chunks[0]?.event, 'metadata');
  t.is(chunks.at(-1)?.event, 'on_chain_end');
  const events = await post(
    url(),
    { messages: [user('hello')] },
    { accept: 'text/event-stream, application/x-ndjson' },
  );
  t.regex(events.headers.get('content-type') ?? '', /^text\/event-stream/);
  await events.text();
});

test('a node that fails ends the stream with an error that names it', async (t) => {
  const chunks = await Array.fromAsync(stream({ messages: [user('fail')] }));
  t.is(chunks.at(-1)?.event, 'error');
  t.like(chunks.at(-1)?.data, { code: 'NODE_ERROR', node: 'obey' });
  t.is(chunks.filter(({ event }) => event === 'on_chain_end').length, 0);
});

test('the caller going away does not end the run', async (t) => {
  await using gate = await openGate();
  for await (const chunk of gated.stream({ messages: [user('go')], config: { thread_id: 'left', gate: gate.url } })) {
    if (chunk.event === 'messages_chunk') break;
  }
  await gate.visited(1);
  gate.open();
  const count = async (): Promise<number> => {
    const { messages } = (await data(t, 'listMessages', gated.send('GET', '/v1/threads/left/messages'))) as {
      messages: unknown[];
    };
    return messages.length;
  };
  while ((await count()) < 3);
  t.is(await count(), 3);
});

test('a stream with nothing to say sends comments', async (t) => {
  await using gate = await openGate();
  const response = await post(gated.url(), { messages: [user('go')], config: { gate: gate.url } });
  let text = '';
  for await (const bytes of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += bytes;
    if (/^: /m.test(text)) gate.open();
  }
  t.regex(text, /(?:^|\n\n): [^\n]*\n\n/);
  t.regex(text, /event: on_chain_end\n[^\n]*\n\n$/);
});

test('what is wrong before the first event is a refusal like any other', async (t) => {
  const path = '/v1/graph/stream';
  t.deepEqual(await refused(t, send('POST', path, { messages: [] }), 422, codeOf(422)), [['body', 'messages']]);
  const result = { role: 'tool', content: [{ type: 'tool_result', call_id: 'never', output: 1 }] };
  await refused(t, send('POST', path, { messages: [result] }), 400, codeOf(400));
});
