import { retryingExecution } from '@agent-workflow/gateway/upstream/retrying-execution';
import { ServiceError } from '@agent-workflow/kit/errors';
import { never, within } from '@agent-workflow/protos/call';
import type { Execution, UpdateStateRequest } from '@agent-workflow/protos/execution';
import { openClient } from '@agent-workflow/protos/wire/channel';
import { connect } from '@agent-workflow/protos/wire/connect';
import { definitionOf } from '@agent-workflow/protos/wire/definitions';
import { createCallStreams } from '@agent-workflow/protos/wire/call-streams';
import { createHedgeBudget } from '@agent-workflow/protos/wire/hedge-budget';
import { toMetadata } from '@agent-workflow/protos/wire/security';
import { watchReplicas } from '@agent-workflow/protos/wire/replica-watch';
import { serve } from '@agent-workflow/protos/wire/serve';
import { awaitReply, slowMs } from '@agent-workflow/protos/wire/unary';
import { eventOf } from '../events.ts';
import test, { type ExecutionContext } from 'ava';
import { openStallingProxy, type StallingProxy } from '../servers/stalling-proxy.ts';
import { byLoad } from '../by-load.ts';

/** One replica behind a way that can be blocked: to its callers it is frozen then, for its connections stay open. */
interface Replica {
  readonly way: StallingProxy;
  readonly updates: UpdateStateRequest[];
  /** How often each method was called. */
  readonly calls: Map<string, number>;
  /** Whether its calls are never answered. */
  hangs: boolean;
  /** Whether its calls fail because what it needs is unavailable. */
  isWithoutStore: boolean;
  /** How many callers of calls that were not answered went away. */
  left: number;
}

const state = { version: 1, fields: {}, contextJson: new Uint8Array(0) };
const graph = { graphJson: new Uint8Array(0), fieldsJson: new Uint8Array(0) };
const update = { owner: 'anon', threadId: 't', stateJson: new Uint8Array(0) };
const waited = { owner: 'anon', runId: 'r' };

async function openReplica(t: ExecutionContext): Promise<Replica> {
  // Time for a machine that is busy.
  t.timeout(byLoad(60_000));
  const seen: Omit<Replica, 'way'> = { updates: [], calls: new Map(), hangs: false, isWithoutStore: false, left: 0 };
  const answer = async <T>(method: string, signal: AbortSignal, reply: T): Promise<T> => {
    seen.calls.set(method, (seen.calls.get(method) ?? 0) + 1);
    if (seen.isWithoutStore) throw new ServiceError('Unavailable', 'the store is unavailable');
    if (!seen.hangs) return reply;
    signal.addEventListener('abort', () => (replica.left += 1));
    return new Promise(() => undefined);
  };
  const notUsed = (): Promise<never> => Promise.reject(new ServiceError('BadRequest', 'not used here'));
  const execution: Execution = {
    ...{
      start: notUsed,
      stopRun: notUsed,
      checkTools: notUsed,
      listAgents: notUsed,
      getAgent: notUsed,
      getHealth: notUsed,
      countOpenRuns: notUsed,
    },
    deleteThread: async (_request, { signal }) => answer('deleteThread', signal, {}),
    getGraph: async (_request, { signal }) => answer('getGraph', signal, graph),
    answerQuestion: async (_request, { signal }) =>
      answer('answerQuestion', signal, { answers: 1, quorum: 1, differs: false }),
    wait: async (_request, { signal }) => answer('wait', signal, eventOf(9, 'on_chain_end', {})),
    updateState: async (request, { signal }) => {
      replica.updates.push(request);
      return answer('updateState', signal, state);
    },
    async *follow({ after }, { signal }) {
      for (let seq = after + 1; seq <= 10; seq++) {
        if (seq === 4) await answer('follow', signal, undefined);
        yield { events: [eventOf(seq, 'messages_chunk', '')] };
      }
    },
  };
  const options = { host: '127.0.0.1', port: 0, drainMs: 100, onFailure: () => undefined };
  const server = await serve({ execution }, options);
  const way = await openStallingProxy(server.port);
  const replica = Object.assign(seen, { way });
  t.teardown(async () => {
    await way[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });
  return replica;
}

const addressOf = (replicas: readonly Replica[]): string =>
  `ipv4:${replicas.map(({ way }) => `127.0.0.1:${String(way.port)}`).join(',')}`;

/** Two replicas, and a client that is connected to both. */
async function openPair(
  t: ExecutionContext,
): Promise<{ readonly first: Replica; readonly second: Replica; readonly client: Execution & AsyncDisposable }> {
  const [first, second] = await Promise.all([openReplica(t), openReplica(t)]);
  const client = connect('execution', addressOf([first, second]));
  t.teardown(async () => client[Symbol.asyncDispose]());
  while (!first.calls.has('getGraph') || !second.calls.has('getGraph'))
    await client.getGraph({}, within(byLoad(60_000)));
  return { first, second, client };
}

const countOf = ({ calls }: Replica, method: string): number => calls.get(method) ?? 0;

/** Far more than what is promised: the machine that tests run on may be busy. */
const boundMs = 10_000;
/** A connection without answers is dropped no sooner, in milliseconds. */
const keepaliveMs = 5000;

async function timed<T>(work: Promise<T>): Promise<{ readonly value: T; readonly ms: number }> {
  const start = performance.now();
  return { value: await work, ms: performance.now() - start };
}

test('calls that go to a replica which is frozen are answered by another', async (t) => {
  const { first, client } = await openPair(t);
  first.way.stall();
  const calls = await Promise.all(
    Array.from({ length: 40 }, async () => timed(client.getGraph({}, within(byLoad(60_000))))),
  );
  const slowest = Math.max(...calls.map(({ ms }) => ms));
  t.log(`40 calls while one of two replicas is frozen: the slowest took ${slowest.toFixed(0)} ms`);
  t.true(slowest < boundMs);
  const { ms } = await timed(
    Promise.all(Array.from({ length: 40 }, async () => client.getGraph({}, within(byLoad(60_000))))),
  );
  t.log(`40 more, once it is known: ${ms.toFixed(0)} ms`);
  t.true(ms < boundMs);

  first.way.resume();
  const before = countOf(first, 'getGraph');
  while (countOf(first, 'getGraph') === before) await client.getGraph({}, within(byLoad(60_000)));
  t.pass('a replica that goes on is called again');
});

test('whoever waits at a replica that freezes in the middle has the answer of another', async (t) => {
  const { first, second, client } = await openPair(t);
  for (const replica of [first, second]) replica.hangs = true;
  const waiting = timed(client.wait(waited, within(byLoad(60_000))));
  while (countOf(first, 'wait') + countOf(second, 'wait') === 0) await turn();
  const [asked, other] = countOf(first, 'wait') > 0 ? [first, second] : [second, first];
  other.hangs = false;
  asked.way.stall();
  const { value, ms } = await waiting;
  t.is(value.seq, 9);
  t.log(`waited for ${ms.toFixed(0)} ms`);
  t.true(ms < boundMs);
});

test('a stream that a frozen replica cuts off goes on at another after its last event, each event once', async (t) => {
  const { first, second, client } = await openPair(t);
  for (const replica of [first, second]) replica.hangs = true;
  const seen: number[] = [];
  let stalledAt = 0;
  for await (const { events } of retryingExecution(client).follow({ ...waited, after: 0 }, within(byLoad(60_000)))) {
    seen.push(...events.map(({ seq }) => seq));
    if (seen.length !== 3) continue;
    while (countOf(first, 'follow') + countOf(second, 'follow') === 0) await turn();
    const [asked, other] = countOf(first, 'follow') > 0 ? [first, second] : [second, first];
    other.hangs = false;
    asked.way.stall();
    stalledAt = performance.now();
  }
  const ms = performance.now() - stalledAt;
  t.log(`it went on after ${ms.toFixed(0)} ms`);
  t.true(ms < keepaliveMs);
  t.deepEqual(seen, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
});

test('a call that takes long is made at another replica as soon as its own is silent, and none is kept there', async (t) => {
  const { first, second, client } = await openPair(t);
  for (const replica of [first, second]) replica.hangs = true;
  const deleting = timed(client.deleteThread({ owner: 'anon', threadId: 't' }, within(byLoad(60_000))));
  while (countOf(first, 'deleteThread') + countOf(second, 'deleteThread') === 0) await turn();
  const [asked, other] = countOf(first, 'deleteThread') > 0 ? [first, second] : [second, first];
  other.hangs = false;
  asked.way.stall();
  const { ms } = await deleting;
  t.log(`it took ${ms.toFixed(0)} ms`);
  t.true(ms < keepaliveMs);
  const calls = await Promise.all(
    Array.from({ length: 20 }, async () => timed(client.getGraph({}, within(byLoad(60_000))))),
  );
  t.true(Math.max(...calls.map((call) => call.ms)) < slowMs, 'no call goes to the replica that is silent');
  asked.way.resume();
  asked.hangs = false;
  const before = countOf(asked, 'getGraph');
  while (countOf(asked, 'getGraph') === before) await client.getGraph({}, within(byLoad(60_000)));
  t.pass('a replica that answers again is called again');
});

test('a call that a replica takes and never answers is made at another, under the same attempt id', async (t) => {
  const { first, second, client } = await openPair(t);
  first.hangs = true;
  const replies = await Promise.all([
    timed(client.updateState(update, within(byLoad(60_000)))),
    timed(client.updateState(update, within(byLoad(60_000)))),
  ]);
  t.true(Math.max(...replies.map(({ ms }) => ms)) < boundMs);
  const [hung] = first.updates;
  const ids = second.updates.map(({ attemptId }) => attemptId);
  t.is(first.updates.length, 1, 'one of the two calls went there');
  t.is(second.updates.length, 2);
  t.is(new Set(ids).size, 2, 'two calls have two ids');
  t.true(ids.includes(hung?.attemptId));
  while (first.left === 0) await turn();
  t.is(first.left, 1, 'the attempt that was not answered is cancelled');
});

test('the attempt id that a caller gives is kept', async (t) => {
  const { first, second, client } = await openPair(t);
  await client.updateState({ ...update, attemptId: 'mine' }, within(byLoad(60_000)));
  t.deepEqual(
    [...first.updates, ...second.updates].map(({ attemptId }) => attemptId),
    ['mine'],
  );
});

test('a call is not made twice at one replica because it is slow', async (t) => {
  const only = await openReplica(t);
  only.hangs = true;
  await using client = connect('execution', addressOf([only]));
  await t.throwsAsync(client.updateState(update, within(3500)), { code: 'Timeout' });
  t.is(only.updates.length, 1);
});

test('a call whose answer takes long is not made again while its replica lives', async (t) => {
  const { first, second, client } = await openPair(t);
  for (const replica of [first, second]) replica.hangs = true;
  await t.throwsAsync(client.deleteThread({ owner: 'anon', threadId: 't' }, within(2500)), { code: 'Timeout' });
  t.is(countOf(first, 'deleteThread') + countOf(second, 'deleteThread'), 1);
});

test('a call that is marked never is not made again, neither because it is slow nor because its replica is lost', async (t) => {
  const replicas = await Promise.all([openReplica(t), openReplica(t)]);
  for (const replica of replicas) replica.hangs = true;
  const client = openClient(addressOf(replicas), {});
  t.teardown(() => client.close());
  const rpc = definitionOf('execution')['UpdateState'];
  if (!rpc) return t.fail();
  const rule = { retry: 'never', takesLong: false } as const;
  const watch = watchReplicas(client);
  const metadata = toMetadata({});
  const streams = createCallStreams(client, metadata, watch.silent);
  const parts = {
    context: 'execution',
    address: 'of the replicas',
    client,
    metadata,
    streams,
    rpc,
    rule,
    budget: createHedgeBudget(),
    watch,
    request: update,
  };
  const failed = timed(
    t.throwsAsync(awaitReply({ ...parts, call: within(byLoad(60_000)) }), {
      code: 'Unavailable',
      message: /is unavailable/,
    }),
  );
  const asked = async (): Promise<Replica> => {
    for (;;) {
      const found = replicas.find(({ updates }) => updates.length > 0);
      if (found) return found;
      await turn();
    }
  };
  const taken = await asked();
  // Longer than a slow call of another kind would wait.
  await new Promise((resolve) => setTimeout(resolve, 1500));
  taken.way.stall();
  t.true((await failed).ms < boundMs);
  t.deepEqual(replicas.map(({ updates }) => updates.length).toSorted(), [0, 1]);
  t.is(taken.updates[0]?.attemptId, undefined);
  t.false(never.aborted);
});

test.serial('a process that was paused itself loses no call and drops no connection', async (t) => {
  const { first, second, client } = await openPair(t);
  const connections = (): number => first.way.connections() + second.way.connections();
  const before = connections();
  const calls = Array.from({ length: 10 }, async () => client.updateState(update, within(byLoad(60_000))));
  // The first stop makes a ping due, which is on its way during the second.
  standStill(1200);
  for (let turns = 0; turns < 2; turns += 1) await new Promise(setImmediate);
  standStill(2500);
  t.is((await Promise.all(calls)).length, 10);
  t.is((await client.updateState(update, within(byLoad(60_000)))).version, 1);
  t.is(connections(), before);
});

test('what a caller that is frozen has asked for is cancelled', async (t) => {
  const only = await openReplica(t);
  only.hangs = true;
  await using client = connect('execution', addressOf([only]));
  const leaving = new AbortController();
  const call = client.wait(waited, within(60_000, leaving.signal)).catch(() => undefined);
  while (countOf(only, 'wait') === 0) await turn();
  only.way.stall();
  const start = performance.now();
  while (only.left === 0) await turn();
  t.log(`its calls were cancelled after ${(performance.now() - start).toFixed(0)} ms`);
  leaving.abort();
  await call;
  t.true(only.left > 0);
});

test("a client that is closed while a call waits asks for nobody's health any more", async (t) => {
  const only = await openReplica(t);
  only.hangs = true;
  const client = connect('execution', addressOf([only]));
  const waiting = t.throwsAsync(client.wait(waited, within(byLoad(60_000))), { code: 'Unavailable' });
  while (countOf(only, 'wait') === 0) await turn();
  await client[Symbol.asyncDispose]();
  // What would be thrown by a timer meanwhile fails the test.
  await waiting;
});

test('a client that is closed while a replica is silent does not wait for that', async (t) => {
  const { first, second, client } = await openPair(t);
  for (const replica of [first, second]) replica.hangs = true;
  const waiting = client.wait(waited, within(byLoad(60_000)));
  while (countOf(first, 'wait') + countOf(second, 'wait') === 0) await turn();
  const [asked, other] = countOf(first, 'wait') > 0 ? [first, second] : [second, first];
  other.hangs = false;
  asked.way.stall('answers');
  const start = performance.now();
  await waiting;
  await client[Symbol.asyncDispose]();
  while (asked.way.open() > 0) await turn();
  const ms = performance.now() - start;
  t.log(`its connection was closed after ${ms.toFixed(0)} ms`);
  t.true(ms < keepaliveMs);
});

function standStill(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

const turn = async (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));

/** What a replica was asked for by those who share their replicas. */
const sharedOf = (replica: Replica): number[] => ['getGraph', 'wait', 'follow'].map((name) => countOf(replica, name));

test('calls that share their replicas go where the first of them went, streams too', async (t) => {
  const { first, second, client } = await openPair(t);
  for (let round = 0; round < 10; round++) {
    const before = [first, second].map(sharedOf);
    const call = { ...within(byLoad(60_000)), replicas: new Map<string, string>() };
    await client.getGraph({}, call);
    await client.wait(waited, call);
    for await (const { events } of client.follow({ ...waited, after: 0 }, call)) if (events.at(-1)?.seq === 4) break;
    const asked = [first, second].map((replica, index) =>
      sharedOf(replica).map((count, at) => count - (before[index]?.[at] ?? 0)),
    );
    t.deepEqual(
      asked.toSorted(([a = 0], [b = 0]) => a - b),
      [
        [0, 0, 0],
        [1, 1, 1],
      ],
    );
  }
});

test('calls that share a replica which is frozen are answered by another', async (t) => {
  const { first, second, client } = await openPair(t);
  const replicas = new Map([['execution', `127.0.0.1:${String(first.way.port)}`]]);
  const before = countOf(second, 'getGraph');
  first.way.stall();
  const { ms } = await timed(client.getGraph({}, { ...within(byLoad(60_000)), replicas }));
  t.true(ms < boundMs);
  t.is(countOf(second, 'getGraph'), before + 1);
  t.is(replicas.get('execution'), `127.0.0.1:${String(second.way.port)}`);
  first.way.resume();
});

test('a replica that cannot answer is not preferred by later calls, and takes its turns', async (t) => {
  const { first, second, client } = await openPair(t);
  const replicas = new Map([['execution', `127.0.0.1:${String(first.way.port)}`]]);
  first.isWithoutStore = true;
  const outcomes: boolean[] = [];
  while (outcomes.length < 3)
    outcomes.push(
      await client.getGraph({}, { ...within(byLoad(60_000)), replicas }).then(
        () => true,
        () => false,
      ),
    );
  t.true(outcomes.includes(true));
  t.is(replicas.get('execution'), `127.0.0.1:${String(second.way.port)}`);
  for await (const { events } of client.follow({ ...waited, after: 0 }, { ...within(byLoad(60_000)), replicas }))
    if (events.at(-1)?.seq === 4) break;
  t.is(countOf(second, 'follow'), 1);
});

test('pairs of calls that share their replicas begin at every replica in turn', async (t) => {
  const { first, second, client } = await openPair(t);
  const before = [first, second].map((replica) => countOf(replica, 'getGraph'));
  for (let pair = 0; pair < 10; pair++) {
    const call = { ...within(byLoad(60_000)), replicas: new Map<string, string>() };
    await client.getGraph({}, call);
    await client.wait(waited, call);
  }
  const begun = [first, second].map((replica, index) => countOf(replica, 'getGraph') - (before[index] ?? 0));
  t.true(
    begun.every((count) => count >= 4),
    `${String(begun)} of 10`,
  );
});
