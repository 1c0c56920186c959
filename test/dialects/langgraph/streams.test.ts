import test from 'ava';
import { graphId, serveLangGraph } from './service.ts';

const service = serveLangGraph(test);
const makeThread = async (): Promise<string> => (await service.client().threads.create({ graphId })).thread_id;

interface Part {
  readonly id?: string | undefined;
  readonly event: string;
  readonly data: unknown;
}

const order = (content: string) => ({ input: { messages: [{ role: 'user', content }] } });

async function partsOf(source: AsyncIterable<unknown>): Promise<Part[]> {
  const parts: Part[] = [];
  for await (const part of source) parts.push(part as Part);
  return parts;
}

const stream = (threadId: string, content: string, ...streamMode: readonly string[]): Promise<Part[]> =>
  partsOf(service.client().runs.stream(threadId, graphId, { ...order(content), streamMode } as never));

const namesOf = (parts: readonly Part[]): string[] => parts.map(({ event }) => event);

const textsIn = (data: unknown): unknown[] =>
  (data as { readonly messages: readonly { readonly content: unknown }[] }).messages.map(({ content }) => content);

test('values are those of the input and those after each step', async (t) => {
  const id = await makeThread();
  const parts = await stream(id, 'hello', 'values');
  t.deepEqual(namesOf(parts), ['metadata', 'values', 'values', 'values']);
  t.deepEqual(
    parts.slice(1).map(({ data }) => ({ texts: textsIn(data), count: (data as { count: number }).count })),
    [
      { texts: ['hello'], count: 0 },
      { texts: ['hello', 'pale blue sky over hills'], count: 1 },
      { texts: ['hello', 'pale blue sky over hills'], count: 1 },
    ],
  );
  const { values } = await service.client().threads.getState(id);
  t.deepEqual(parts.at(-1)?.data, values);
});

test('updates are what each node gave, and custom what it reported', async (t) => {
  const parts = await stream(await makeThread(), 'again', 'updates', 'custom');
  t.deepEqual(namesOf(parts), ['metadata', 'custom', 'updates', 'updates']);
  const [, custom, think, gate] = parts;
  t.like(custom?.data, { note: 'working' });
  t.deepEqual(textsIn((think?.data as { think: unknown }).think), ['pale blue sky over hills']);
  t.like(think?.data, { think: { count: 1 } });
  t.deepEqual(gate?.data, { gate: null });
});

test('chunks of a message, joined by their id, are the message', async (t) => {
  const id = await makeThread();
  const parts = await stream(id, 'more', 'messages-tuple');
  const chunks = parts.filter(({ event }) => event === 'messages').map(({ data }) => data as [Chunk, Metadata]);
  t.true(chunks.length > 1);
  t.is(chunks.map(([{ content }]) => content).join(''), 'pale blue sky over hills');
  t.is(new Set(chunks.map(([{ id: own }]) => own)).size, 1);
  const [[chunk, metadata] = []] = chunks;
  t.like(chunk, { type: 'AIMessageChunk', tool_calls: [], invalid_tool_calls: [], usage_metadata: null });
  t.like(metadata, { langgraph_node: 'think', thread_id: id, graph_id: graphId });
});

interface Chunk {
  readonly id: string;
  readonly content: string;
}
interface Metadata {
  readonly langgraph_node: string;
}

test('messages hold the whole text so far', async (t) => {
  const parts = await stream(await makeThread(), 'more', 'messages');
  t.is(parts[1]?.event, 'messages/metadata');
  const partial = parts.filter(({ event }) => event === 'messages/partial').map(({ data }) => (data as Chunk[])[0]);
  for (const [index, message] of partial.entries())
    t.true(message?.content.startsWith(partial[index - 1]?.content ?? ''), 'it grows');
  const last = parts.findLast(({ event }) => event === 'messages/complete');
  t.like((last?.data as object[])[0], { type: 'ai', content: 'pale blue sky over hills' });
});

test('tasks and checkpoints are those of the record', async (t) => {
  const id = await makeThread();
  const parts = await stream(id, 'more', 'tasks', 'checkpoints');
  t.deepEqual(namesOf(parts), [
    ...['metadata', 'checkpoints', 'checkpoints', 'tasks', 'tasks', 'checkpoints', 'tasks', 'tasks', 'checkpoints'],
  ]);
  const checkpoints = parts.filter(({ event }) => event === 'checkpoints').map(({ data }) => data as Checkpoint);
  const history = await service.client().threads.getHistory(id);
  t.deepEqual(
    checkpoints.map(({ config }) => config.configurable.checkpoint_id),
    history.map(({ checkpoint }) => checkpoint.checkpoint_id).toReversed(),
  );
  t.deepEqual(checkpoints.at(-1)?.values, history[0]?.values);
  t.deepEqual(
    checkpoints.map(({ next }) => next),
    [['__start__'], ['think'], ['gate'], []],
  );
});

interface Checkpoint {
  readonly config: { readonly configurable: { readonly checkpoint_id: string } };
  readonly values: unknown;
  readonly next: readonly string[];
}

test('debug and events hold what runs, and what it gave', async (t) => {
  const parts = await stream(await makeThread(), 'more', 'debug', 'events');
  t.deepEqual(
    parts.filter(({ event }) => event === 'debug').map(({ data }) => (data as { type: string }).type),
    ['checkpoint', 'checkpoint', 'task', 'task_result', 'checkpoint', 'task', 'task_result', 'checkpoint'],
  );
  const events = parts.filter(({ event }) => event === 'events').map(({ data }) => data as Named);
  const named = events.map(({ event, name }) => `${event} ${name}`);
  t.is(named[0], `on_chain_start ${graphId}`);
  t.is(named.at(-1), `on_chain_end ${graphId}`);
  t.true(named.includes('on_chain_start think'));
  t.true(named.includes('on_chain_end gate'));
  t.true(events.some(({ event }) => event === 'on_chat_model_stream'));
});

interface Named {
  readonly event: string;
  readonly name: string;
}

test('a question is the last update and stands in the last values, and its answer goes on', async (t) => {
  const id = await makeThread();
  const parts = await stream(id, 'please ask', 'values', 'updates');
  t.deepEqual(namesOf(parts), ['metadata', 'values', 'updates', 'values', 'updates', 'values']);
  const { __interrupt__: asked } = parts.at(-2)?.data as { __interrupt__: { id: string; value: unknown }[] };
  t.like(asked[0], { value: { question: 'go on?' } });
  t.deepEqual((parts.at(-1)?.data as { __interrupt__: unknown }).__interrupt__, asked);
  const resumed = await partsOf(
    service.client().runs.stream(id, graphId, { command: { resume: 'yes' }, streamMode: ['updates'] }),
  );
  t.deepEqual(namesOf(resumed), ['metadata', 'updates']);
  t.like(resumed[1]?.data, { gate: { answer: 'yes' } });
  t.deepEqual(textsIn((resumed[1]?.data as { gate: unknown }).gate), ['you said yes']);
});

test('a failed run says why in an error', async (t) => {
  const parts = await stream(await makeThread(), 'please fail', 'updates');
  t.is(parts.at(-1)?.event, 'error');
  t.true(typeof (parts.at(-1)?.data as { error: unknown }).error === 'string');
});

test('a stream names where it is continued, and goes on after any of its events', async (t) => {
  const id = await makeThread();
  const modes = ['values', 'updates', 'messages-tuple', 'messages', 'tasks'];
  const reply = await fetch(`${service.url()}/threads/${id}/runs/stream`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ assistant_id: graphId, ...order('hello'), stream_mode: modes }),
  });
  const whole = framesIn(await reply.text());
  t.is(reply.headers.get('content-location')?.split('/').length, 5);
  const place = reply.headers.get('location') ?? '';
  t.true(place.includes('stream_mode=messages-tuple'));
  const ids = whole.flatMap(({ id: own }) => (own === undefined ? [] : [own]));
  t.is(new Set(ids).size, whole.length);
  for (const after of ['-1', ...ids]) {
    const again = await fetch(`${service.url()}${place}`, { headers: { 'last-event-id': after } });
    const rest = framesIn(await again.text());
    const from = after === '-1' ? 0 : whole.findIndex(({ id: own }) => own === after) + 1;
    t.deepEqual(rest, whole.slice(from), after);
  }
  const refused = await fetch(`${service.url()}${place}`, { headers: { 'last-event-id': 'x' } });
  t.is(refused.status, 422);
  t.true(JSON.stringify(await refused.json()).includes('Last-Event-ID'));
});

interface Framed {
  readonly id: string | undefined;
  readonly text: string;
}

const framesIn = (text: string): Framed[] =>
  text
    .split('\n\n')
    .filter((block) => block !== '' && !block.startsWith(':'))
    .map((block) => ({ id: /^id: (.*)$/m.exec(block)?.[1], text: block }));

test('a mode that is none is refused by its name', async (t) => {
  const id = await makeThread();
  const { status, body } = await service.send('POST', `/threads/${id}/runs/stream`, {
    ...{ assistant_id: graphId, ...order('x'), stream_mode: ['values', 'everything'] },
  });
  t.is(status, 422);
  t.true(JSON.stringify(body).includes('stream_mode'));
});

test('a run without a thread is streamed, and joined from its beginning', async (t) => {
  const parts = await partsOf(
    service.client().runs.stream(null, graphId, { ...order('hello'), streamMode: 'updates' }),
  );
  t.deepEqual(namesOf(parts), ['metadata', 'updates', 'updates']);
  const id = await makeThread();
  const run = await service.client().runs.create(id, graphId, order('hello'));
  const joined = await partsOf(service.client().runs.joinStream(id, run.run_id, { streamMode: ['updates'] }));
  t.deepEqual(namesOf(joined).slice(0, 2), ['metadata', 'updates']);
});

test('a stream that is joined without modes has those of its run', async (t) => {
  const client = service.client();
  const joined = async (threadId: string, runId: string): Promise<readonly string[]> => [
    ...new Set(namesOf(await partsOf(client.runs.joinStream(threadId, runId)))),
  ];
  const id = await makeThread();
  const streamMode = ['messages-tuple', 'updates'] as never;
  const { run_id: run } = await client.runs.create(id, graphId, { ...order('hello'), streamMode });
  t.deepEqual((await joined(id, run)).toSorted(), ['messages', 'metadata', 'updates']);
  const reply = await fetch(`${service.url()}/threads/${id}/runs/${run}/stream?stream_mode=`, {
    headers: { 'last-event-id': '-1' },
  });
  t.deepEqual(reply.headers.get('location')?.split('?')[1], 'stream_mode=messages-tuple&stream_mode=updates');
  const frames = framesIn(await reply.text());
  const rest = await fetch(`${service.url()}/threads/${id}/runs/${run}/stream`, {
    headers: { 'last-event-id': frames[1]?.id ?? '' },
  });
  t.deepEqual(framesIn(await rest.text()), frames.slice(2));

  const later = await client.runs.create(id, graphId, { ...order('later'), streamMode, afterSeconds: 1 });
  t.deepEqual((await joined(id, later.run_id)).toSorted(), ['messages', 'metadata', 'updates']);
  const plain = await client.runs.create(id, graphId, order('plain'));
  t.deepEqual(await joined(id, plain.run_id), ['metadata', 'values']);
});

test('the stream of a thread goes on after any of its frames', async (t) => {
  const id = await makeThread();
  await service.client().runs.wait(id, graphId, order('hello'));
  const url = `${service.url()}/threads/${id}/stream?stream_mode=values&stream_mode=updates&stream_mode=tasks`;
  const readAfter = async (last: string): Promise<readonly Framed[]> => {
    const controller = new AbortController();
    const reply = await fetch(url, { headers: { 'last-event-id': last }, signal: controller.signal });
    let text = '';
    for await (const chunk of reply.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk;
      if (text.includes('run_done') && text.endsWith('\n\n')) break;
    }
    controller.abort();
    return framesIn(text);
  };
  const whole = await readAfter('-1');
  t.true(whole.length > 6);
  t.is(new Set(whole.map(({ id: own }) => own)).size, whole.length);
  for (const [index, { id: own = '' }] of whole.slice(0, -1).entries())
    t.deepEqual(await readAfter(own), whole.slice(index + 1), own);
});
