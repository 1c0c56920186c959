import test from 'ava';
import { areWhole } from '../numbers.ts';
import { user, type Reply } from '../servers/client.ts';
import { openGate } from '../servers/gate.ts';
import { replyText, serve } from './service.ts';

const service = serve(test, 'gated');

interface ReplyMessage {
  readonly content: readonly { readonly text?: string }[];
}

interface Run {
  readonly run_id: string;
  readonly status: string;
  readonly created_at: string;
}

const words = Array.from({ length: 20 }, (_, index) => `turn ${String(index)}`);

/** Sends a run for each word to one thread, all at once. */
const sendAll = async (thread: string, strategy: string, gate: string): Promise<readonly Reply[]> =>
  Promise.all(
    words.map(async (word) =>
      service.send('POST', '/v1/runs', {
        messages: [user(word)],
        config: { thread_id: thread, multitask_strategy: strategy, gate },
      }),
    ),
  );

const idOf = ({ body }: Reply): string => (body.data as { run_id: string }).run_id;

const logOf = async (thread: string): Promise<string[]> => {
  const { messages } = (await service.send('GET', `/v1/threads/${thread}/messages?limit=1000`)).body.data as {
    messages: ReplyMessage[];
  };
  return messages.map(replyText);
};

const stepsOf = async (thread: string): Promise<number> =>
  ((await service.send('GET', `/v1/threads/${thread}/state`)).body.data as { state: { steps: number } }).state.steps;

const statusOf = async (runId: string): Promise<string> =>
  ((await service.send('GET', `/v1/runs/${runId}/wait`)).body.data as { meta: { status: string } }).meta.status;

/** The runs of a thread in order of acceptance. */
const runsOf = async (thread: string): Promise<readonly Run[]> =>
  ((await service.send('GET', `/v1/threads/${thread}/runs?limit=100`)).body.data as { runs: Run[] }).runs.toReversed();

/** Kinds of events of one run's stream, which must be numbered without a gap. */
async function followed(runId: string): Promise<string[]> {
  const text = await (await fetch(`${service.url()}/v1/runs/${runId}/stream`)).text();
  const events = text.split('\n\n').filter((event) => event.startsWith('id: '));
  const numbers = events.map((event) => Number(/^id: [^:]+:(\d+)$/m.exec(event)?.[1]));
  if (!areWhole(numbers)) throw new Error(`a gap: ${numbers.join()}`);
  return events.map((event) => /^event: (.*)$/m.exec(event)?.[1] ?? '');
}

const isEnd = (kind: string): boolean => kind === 'on_chain_end' || kind === 'error';

test('twenty runs at once that wait for each other all complete, each turn whole, in order of acceptance', async (t) => {
  await using gate = await openGate();
  gate.open();
  const replies = await sendAll('waiting', 'enqueue', gate.url);
  t.deepEqual(new Set(replies.map(({ status }) => status)), new Set([202]));
  t.deepEqual(new Set(await Promise.all(replies.map((reply) => statusOf(idOf(reply))))), new Set(['completed']));
  const log = await logOf('waiting');
  const order = log.filter((text) => text.startsWith('turn '));
  t.deepEqual(order.toSorted(), words.toSorted());
  t.deepEqual(
    log,
    order.flatMap((word) => [word, 'before the gate', 'after the gate']),
  );
  t.is(await stepsOf('waiting'), 40);
  const accepted = new Map((await runsOf('waiting')).map((run) => [run.run_id, run.created_at]));
  const times = order.map((word) => accepted.get(idOf(replies[words.indexOf(word)] as Reply)) ?? '');
  t.deepEqual(times, times.toSorted());
});

test('of twenty runs at once that want the thread idle one begins, and the others are told', async (t) => {
  await using gate = await openGate();
  const replies = await sendAll('rejecting', 'reject', gate.url);
  const taken = replies.filter(({ status }) => status === 202);
  t.is(taken.length, 1);
  t.true(replies.every(({ status }) => status === 202 || status === 409));
  gate.open();
  const [only] = taken as [Reply];
  t.is(await statusOf(idOf(only)), 'completed');
  t.deepEqual(await logOf('rejecting'), [words[replies.indexOf(only)], 'before the gate', 'after the gate']);
  t.is((await runsOf('rejecting')).length, 1);
  t.is(await stepsOf('rejecting'), 2);
});

test('of twenty runs at once that stop each other the last one completes, and what the others committed stays', async (t) => {
  await using gate = await openGate();
  const replies = await sendAll('interrupting', 'interrupt', gate.url);
  t.deepEqual(new Set(replies.map(({ status }) => status)), new Set([202]));
  gate.open();
  const statuses = await Promise.all(replies.map((reply) => statusOf(idOf(reply))));
  t.is(statuses.filter((status) => status === 'completed').length, 1);
  t.is(statuses.filter((status) => status === 'stopped').length, 19);
  t.is((await runsOf('interrupting')).at(-1)?.status, 'completed');
  for (const reply of replies) t.is((await followed(idOf(reply))).filter(isEnd).length, 1);
  const log = await logOf('interrupting');
  const last = words[statuses.indexOf('completed')] ?? '';
  t.deepEqual(log.slice(-3), [last, 'before the gate', 'after the gate']);
  t.is(await stepsOf('interrupting'), log.filter((text) => text.endsWith('the gate')).length);
  t.is(log.filter((text) => text === 'after the gate').length, 1);
});

test('of twenty runs at once that undo each other the last one completes, and nothing of the others is left', async (t) => {
  await using gate = await openGate();
  gate.open();
  await service.send('POST', '/v1/graph/invoke', {
    messages: [user('before')],
    config: { thread_id: 'undoing', gate: gate.url },
  });
  await using closed = await openGate();
  const replies = await sendAll('undoing', 'rollback', closed.url);
  t.deepEqual(new Set(replies.map(({ status }) => status)), new Set([202]));
  closed.open();
  const statuses = await Promise.all(replies.map((reply) => statusOf(idOf(reply))));
  t.is(statuses.filter((status) => status === 'completed').length, 1);
  t.is(statuses.filter((status) => status === 'stopped').length, 19);
  t.is((await runsOf('undoing')).at(-1)?.status, 'completed');
  for (const reply of replies) t.is((await followed(idOf(reply))).filter(isEnd).length, 1);
  const last = words[statuses.indexOf('completed')] ?? '';
  const turn = ['before the gate', 'after the gate'];
  t.deepEqual(await logOf('undoing'), ['before', ...turn, last, ...turn]);
  t.is(await stepsOf('undoing'), 4);
});

test('a run that is rolled back leaves the thread as it found it, whatever it had committed, and its followers hear of it', async (t) => {
  await using gate = await openGate();
  const config = { thread_id: 'undone', gate: gate.url };
  const first = await service.send('POST', '/v1/runs', { messages: [user('one')], config });
  const following = followed(idOf(first));
  await gate.visited(1);
  t.deepEqual(await logOf('undone'), ['one', 'before the gate']);
  const second = await service.send('POST', '/v1/runs', {
    messages: [user('two')],
    config: { ...config, multitask_strategy: 'rollback' },
  });
  t.is(await statusOf(idOf(first)), 'stopped');
  t.is((await following).at(-1), 'on_chain_end');
  await gate.visited(2);
  t.deepEqual(await logOf('undone'), ['two', 'before the gate']);
  gate.open();
  t.is(await statusOf(idOf(second)), 'completed');
  t.deepEqual(await logOf('undone'), ['two', 'before the gate', 'after the gate']);
  t.is(await stepsOf('undone'), 2);
  const again = await service.send('POST', '/v1/runs', {
    messages: [user('three')],
    config: { ...config, multitask_strategy: 'rollback' },
  });
  t.is(await statusOf(idOf(again)), 'completed');
  t.is(await stepsOf('undone'), 4);
});

test('a strategy that there is none of is refused', async (t) => {
  const reply = service.send('POST', '/v1/runs', { messages: [user('a')], config: { multitask_strategy: 'undo' } });
  t.deepEqual(await service.refused(t, reply, 422, 'VALIDATION_ERROR'), [['body', 'config', 'multitask_strategy']]);
});
