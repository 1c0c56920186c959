import test from 'ava';
import { user, type Chunk } from '../servers/client.ts';
import { openGate } from '../servers/gate.ts';
import { replyText, serve } from './service.ts';

const quick = serve(test);
const gated = serve(test, 'gated');
const held = serve(test, 'held');

interface Run {
  readonly run_id: string;
  readonly thread_id: string;
  readonly status: string;
}

interface Result {
  readonly messages: readonly { readonly content: readonly { readonly text?: string }[] }[];
  readonly meta: { readonly run_id: string; readonly status: string };
}

type Service = typeof quick;

const accept = async ({ send }: Service, body: object): Promise<Run> =>
  (await send('POST', '/v1/runs', body)).body.data;

/** Follows a run from after the event of this id. */
async function follow(service: Service, runId: string, lastEventId?: string): Promise<string[]> {
  const headers = lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
  const reply = await fetch(`${service.url()}/v1/runs/${runId}/stream`, { headers });
  return (await reply.text()).split('\n\n').filter((event) => event !== '' && !event.startsWith(':'));
}

const idOf = (event: string | undefined): string => /^id: (.*)$/m.exec(event ?? '')?.[1] ?? '';
const kindOf = (event: string | undefined): string => /^event: (.*)$/m.exec(event ?? '')?.[1] ?? '';

test('a run is accepted with 202, can be read, and its result is what invoke would have given', async (t) => {
  const reply = await quick.send('POST', '/v1/runs', { messages: [user('hello')], config: { thread_id: 'accepted' } });
  t.is(reply.status, 202);
  const { run_id: runId, thread_id: threadId } = reply.body.data as Run;
  t.is(threadId, 'accepted');
  const result = (await quick.data(t, 'waitForRun', quick.send('GET', `/v1/runs/${runId}/wait`))) as Result;
  t.deepEqual(result.messages.map(replyText), ['you said hello']);
  t.like(result.meta, { run_id: runId, status: 'completed' });
  const run = (await quick.data(t, 'getRun', quick.send('GET', `/v1/runs/${runId}`))) as Run;
  t.like(run, { run_id: runId, thread_id: 'accepted', status: 'completed' });
});

test('a stream that is cut at any event and resumed is the uncut stream, byte for byte', async (t) => {
  const { run_id: runId } = await accept(quick, { messages: [user('one two three')], response_granularity: 'full' });
  const whole = await follow(quick, runId);
  t.is(kindOf(whole[0]), 'metadata');
  t.is(kindOf(whole.at(-1)), 'on_chain_end');
  for (const [index, event] of whole.entries()) {
    t.deepEqual(await follow(quick, runId, idOf(event)), whole.slice(index + 1));
    const after = await fetch(`${quick.url()}/v1/runs/${runId}/stream?after=${String(index + 1)}`);
    t.is(
      await after.text(),
      whole
        .slice(index + 1)
        .map((rest) => `${rest}\n\n`)
        .join(''),
    );
  }
});

test('an event beyond the end of a run is followed by nothing, however far beyond', async (t) => {
  const { run_id: runId } = await accept(quick, { messages: [user('hello')] });
  const whole = await follow(quick, runId);
  for (const seq of [whole.length, whole.length + 1, 5_000, 999_999_999_999_999])
    t.deepEqual(await follow(quick, runId, `${runId}:${String(seq)}`), [], String(seq));
});

test('an event of another run cannot be gone on from, nor one that is none', async (t) => {
  const { run_id: runId } = await accept(quick, { messages: [user('hello')] });
  const stream = (id: string): ReturnType<typeof quick.send> =>
    quick.send('GET', `/v1/runs/${runId}/stream`, undefined, { 'last-event-id': id });
  for (const [id, status, code] of [
    ['01a1fe0b-746f-73b2-9d81-b3f2b7ed7117:3', 400, 'BAD_REQUEST'],
    ['nonsense', 400, 'BAD_REQUEST'],
    [`${runId}:x`, 422, 'VALIDATION_ERROR'],
  ] as const)
    t.deepEqual(await quick.refused(t, stream(id), status, code), [['header', 'Last-Event-ID']], id);
});

for (const path of ['', '/wait', '/stream']) {
  test(`GET of a run${path} that is not there is 404`, async (t) => {
    await quick.refused(t, quick.send('GET', `/v1/runs/absent${path}`), 404, 'RESOURCE_NOT_FOUND');
  });
}

test('the runs of a thread are listed, newest first, page by page', async (t) => {
  const runs: string[] = [];
  for (const text of ['a', 'b', 'c', 'd', 'e']) {
    const { run_id: runId } = await accept(quick, { messages: [user(text)], config: { thread_id: 'listed' } });
    await quick.send('GET', `/v1/runs/${runId}/wait`);
    runs.unshift(runId);
  }
  const seen: string[] = [];
  for (let cursor = ''; ;) {
    const page = (await quick.data(t, 'listRuns', quick.send('GET', `/v1/threads/listed/runs?limit=2${cursor}`))) as {
      runs: Run[];
      cursor?: string;
    };
    seen.push(...page.runs.map(({ run_id: id }) => id));
    if (page.cursor === undefined) break;
    cursor = `&cursor=${page.cursor}`;
  }
  t.deepEqual(seen, runs);
  await quick.refused(t, quick.send('GET', '/v1/threads/absent/runs'), 404, 'RESOURCE_NOT_FOUND');
});

test('the runs of all threads are listed, newest first, by status, and those of no other user', async (t) => {
  const accepted: string[] = [];
  for (const text of ['a', 'b', 'c']) {
    const { run_id: runId } = await accept(quick, { messages: [user(text)] });
    await quick.send('GET', `/v1/runs/${runId}/wait`);
    accepted.unshift(runId);
  }
  const idsOf = async (query: string): Promise<readonly string[]> => {
    const page = (await quick.data(t, 'listOwnRuns', quick.send('GET', `/v1/runs${query}`))) as { runs: Run[] };
    return page.runs.map(({ run_id: id }) => id).filter((id) => accepted.includes(id));
  };
  t.deepEqual(await idsOf('?limit=1000'), accepted);
  t.deepEqual(await idsOf('?limit=1000&status=completed,failed'), accepted);
  t.deepEqual(await idsOf('?limit=1000&status=failed&status=queued'), []);
  const refused = await quick.refused(t, quick.send('GET', '/v1/runs?status=failed,lost'), 422, 'VALIDATION_ERROR');
  t.deepEqual(refused, [['query', 'status', 1]]);
  await quick.refused(t, quick.send('GET', '/v1/runs?cursor=no'), 422, 'VALIDATION_ERROR');
});

test('a run that is stopped in the middle of a node ends at once, commits nothing more, and its followers hear of it', async (t) => {
  await using gate = await openGate();
  const config = { thread_id: 'stopped', gate: gate.url };
  const { run_id: runId } = await accept(gated, { messages: [user('go')], config });
  const following = follow(gated, runId);
  await gate.visited(1);
  const stopped = await gated.data(t, 'stopThread', gated.send('POST', '/v1/graph/stop', { thread_id: 'stopped' }));
  t.like(stopped, { success: true, run_id: runId, status: 'stopped' });

  const last = (await following).at(-1);
  t.is(kindOf(last), 'on_chain_end');
  t.regex(last ?? '', /"status":"stopped"/);
  const result = (await gated.data(t, 'waitForRun', gated.send('GET', `/v1/runs/${runId}/wait`))) as Result;
  t.is(result.meta.status, 'stopped');
  t.deepEqual(result.messages.map(replyText), ['before the gate']);

  gate.open();
  const again = await gated.send('POST', `/v1/runs/${runId}/cancel`, {});
  t.like(again.body.data, { success: false, status: 'stopped' });
  const idle = await gated.send('POST', '/v1/graph/stop', { config: { thread_id: 'stopped' } });
  t.like(idle.body.data, { success: false, run_id: null, status: 'idle' });
  const { messages } = (await gated.send('GET', '/v1/threads/stopped/messages')).body.data as {
    messages: Result['messages'];
  };
  t.deepEqual(messages.map(replyText), ['go', 'before the gate']);
});

test('what a node has streamed when its run is stopped gets no end, and is not in the thread', async (t) => {
  await using gate = await openGate();
  const config = { thread_id: 'cut', gate: gate.url };
  const chunks: Chunk[] = [];
  for await (const chunk of held.stream({ messages: [user('go')], config })) {
    chunks.push(chunk);
    if (chunk.event === 'messages_chunk' && chunk.metadata['node'] === 'wait')
      await held.send('POST', '/v1/graph/stop', { thread_id: 'cut' });
  }
  const whole = chunks.flatMap(({ message }) => (message ? [message['message_id']] : []));
  t.is(whole.length, 1, 'that of the step before');
  t.like(chunks.at(-1), { event: 'on_chain_end', data: { meta: { status: 'stopped' } } });
  const { messages } = (await held.send('GET', '/v1/threads/cut/messages')).body.data as {
    messages: readonly { readonly message_id: unknown }[];
  };
  t.deepEqual(
    messages.slice(1).map(({ message_id: id }) => id),
    whole,
  );
});

test('stopping the run that holds a thread lets the next one go on', async (t) => {
  await using gate = await openGate();
  const config = { thread_id: 'next', gate: gate.url };
  const first = await accept(gated, { messages: [user('one')], config });
  await gate.visited(1);
  const second = await accept(gated, { messages: [user('two')], config });
  t.is(second.status, 'queued');
  await gated.send('POST', `/v1/runs/${first.run_id}/cancel`, {});
  await gate.visited(2);
  gate.open();
  const result = (await gated.send('GET', `/v1/runs/${second.run_id}/wait`)).body.data as Result;
  t.is(result.meta.status, 'completed');
});

test('a run that waits can be cancelled, and the one before it is not touched', async (t) => {
  await using gate = await openGate();
  const config = { thread_id: 'waits', gate: gate.url };
  const first = await accept(gated, { messages: [user('one')], config });
  await gate.visited(1);
  const second = await accept(gated, { messages: [user('two')], config });
  const cancelled = await gated.send('POST', `/v1/runs/${second.run_id}/cancel`, {});
  t.like(cancelled.body.data, { success: true, run_id: second.run_id, status: 'stopped' });
  t.is(((await gated.send('GET', `/v1/runs/${second.run_id}/wait`)).body.data as Result).meta.status, 'stopped');
  const events = await follow(gated, second.run_id);
  t.deepEqual(events.map(kindOf), ['metadata', 'on_chain_start', 'on_chain_end']);
  t.regex(events[0] ?? '', /"rebuilt":true/);
  gate.open();
  t.is(((await gated.send('GET', `/v1/runs/${first.run_id}/wait`)).body.data as Result).meta.status, 'completed');
  const { messages } = (await gated.send('GET', '/v1/threads/waits/messages')).body.data as {
    messages: Result['messages'];
  };
  t.deepEqual(messages.map(replyText), ['one', 'before the gate', 'after the gate']);
});

test('multitask strategy interrupt stops the run under way, keeps its steps, and takes its place', async (t) => {
  await using gate = await openGate();
  const config = { thread_id: 'interrupted', gate: gate.url };
  const first = await accept(gated, { messages: [user('one')], config });
  await gate.visited(1);
  const second = await accept(gated, {
    messages: [user('two')],
    config: { ...config, multitask_strategy: 'interrupt' },
  });
  t.is(((await gated.send('GET', `/v1/runs/${first.run_id}/wait`)).body.data as Result).meta.status, 'stopped');
  gate.open();
  t.is(((await gated.send('GET', `/v1/runs/${second.run_id}/wait`)).body.data as Result).meta.status, 'completed');
  const { messages } = (await gated.send('GET', '/v1/threads/interrupted/messages')).body.data as {
    messages: Result['messages'];
  };
  t.deepEqual(messages.map(replyText), ['one', 'before the gate', 'two', 'before the gate', 'after the gate']);
});

test('multitask strategy reject refuses a run on a busy thread', async (t) => {
  await using gate = await openGate();
  const config = { thread_id: 'rejecting', gate: gate.url };
  await accept(gated, { messages: [user('one')], config });
  await gate.visited(1);
  const reply = gated.send('POST', '/v1/runs', {
    messages: [user('two')],
    config: { ...config, multitask_strategy: 'reject' },
  });
  await gated.refused(t, reply, 409, 'CONFLICT');
  gate.open();
});

for (const [what, onDisconnect, status] of [
  ['goes on without its caller', undefined, 'completed'],
  ['is stopped with its caller where that was asked for', 'cancel', 'stopped'],
] as const) {
  test(`a streamed run ${what}`, async (t) => {
    await using gate = await openGate();
    const threadId = `gone-${String(onDisconnect)}`;
    const config = { thread_id: threadId, gate: gate.url, ...(onDisconnect && { on_disconnect: onDisconnect }) };
    const chunks: Chunk[] = [];
    for await (const chunk of gated.stream({ messages: [user('go')], config })) {
      chunks.push(chunk);
      if (chunk.event === 'messages_chunk') break;
    }
    if (onDisconnect === undefined) gate.open();
    const runId = chunks[0]?.id.split(':')[0] ?? '';
    const result = (await gated.send('GET', `/v1/runs/${runId}/wait`)).body.data as Result;
    t.is(result.meta.status, status);
  });
}

test('stop needs a thread, and one that exists', async (t) => {
  t.deepEqual(await quick.refused(t, quick.send('POST', '/v1/graph/stop', {}), 422, 'VALIDATION_ERROR'), [
    ['body', 'thread_id'],
  ]);
  const { body } = await quick.send('POST', '/v1/graph/stop', {});
  t.is((body as unknown as { error: { message: string } }).error.message, 'body.thread_id: is required');
  await quick.refused(t, quick.send('POST', '/v1/graph/stop', { thread_id: 'absent' }), 404, 'RESOURCE_NOT_FOUND');
  await quick.refused(t, quick.send('POST', '/v1/runs/absent/cancel', {}), 404, 'RESOURCE_NOT_FOUND');
});
