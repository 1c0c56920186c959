import { randomUUID } from 'node:crypto';
import test from 'ava';
import type { Threads } from '@agent-workflow/protos/threads';
import { link } from '@agent-workflow/protos/wire/link';
import { createThreads } from '@agent-workflow/threads/threads';
import type { ThreadStore } from '@agent-workflow/threads/ports/store';
import { storeApart } from '../contract/thread-stores/apart.ts';
import type { OpenThreads } from '../contract/thread-stores/threads-open.ts';
import { threadsPastContract } from '../contract/threads-past.ts';
import { bytes, accept, assistant, call, commit, completed, idsIn, owner } from '../contract/thread-calls.ts';
import { openKeyspace, type Keyspace } from '../servers/cassandra-keyspace.ts';
import { cassandra } from '../servers/cassandra.ts';
import { withServer } from '../servers/real-suite.ts';

type Method = (...given: readonly unknown[]) => unknown;

/** One service in front of two: `choose` says which of them has its turns from here on, whenever no call is under way. */
function between(replicas: readonly [Threads, Threads], choose: () => 0 | 1): Threads {
  let underWay = 0;
  let chosen: 0 | 1 = 0;
  const call = async (name: string, given: readonly unknown[]): Promise<unknown> => {
    if (underWay === 0) chosen = choose();
    underWay += 1;
    try {
      return await (replicas[chosen] as unknown as Record<string, Method>)[name]?.(...given);
    } finally {
      underWay -= 1;
    }
  };
  const names = Object.keys(replicas[0]);
  return Object.fromEntries(
    names.map((name) => [name, (...given: readonly unknown[]) => call(name, given)]),
  ) as unknown as Threads;
}

withServer(test, cassandra, (server) => {
  let opening: Promise<readonly [Keyspace, ThreadStore, ThreadStore]> | undefined;
  const opened = async (): Promise<readonly [Keyspace, ThreadStore, ThreadStore]> => {
    const keyspace = await openKeyspace(await server());
    return [keyspace, await keyspace.open(), await keyspace.open()];
  };
  test.after.always(async () => {
    const [keyspace, ...stores] = (await opening) ?? [];
    for (const store of stores) await store[Symbol.asyncDispose]();
    await keyspace?.[Symbol.asyncDispose]();
  });

  const openPair = async (options: Parameters<OpenThreads>[0] = {}): Promise<readonly [Threads, Threads]> => {
    const place = randomUUID();
    const [, first, second] = await (opening ??= opened());
    const serviceOn = (store: ThreadStore): Threads =>
      link(createThreads({ store: storeApart(store, place), ...options }));
    return [serviceOn(first), serviceOn(second)];
  };

  // Mostly one after the other, as a run's calls are made; then for a while another replica has its turns.
  const open: OpenThreads = async (options) => {
    let calls = 0;
    const threads = between(await openPair(options), () => (calls++ % 11 > 7 ? 1 : 0));
    return { ...threads, [Symbol.asyncDispose]: () => Promise.resolve() };
  };
  const scale = { waitingRuns: 50, forkedMessages: 1000, stories: 10, races: 4 };
  threadsPastContract(test, 'two replicas in turns', { open, scale });

  test('a step that another replica has committed meanwhile is seen, and what it wrote is not lost', async (t) => {
    const [one, other] = await openPair();
    const { claimed } = await accept(one, 'r1', { claim: { workerId: 'w1' } });
    const epoch = claimed?.epoch ?? 0;
    const step = (threads: Threads, number: number, value: string): Promise<unknown> =>
      commit(threads, 'r1', epoch, {
        step: number,
        fields: { a: bytes(value) },
        messages: [assistant(`m${String(number)}`)],
        ...(number === 3 ? { end: completed } : {}),
      });
    await step(one, 0, '1');
    await step(other, 1, '2');
    await t.throwsAsync(step(one, 1, '9'), { code: 'Stale' });
    await step(one, 2, '3');
    await step(one, 3, '4');
    const key = { owner, threadId: claimed?.threadId ?? '' };
    const { checkpoints } = await other.listCheckpoints({ ...key, limit: 10, offset: 0 }, call());
    const values = await Promise.all(
      checkpoints.map(async ({ checkpointId }) => {
        const { state } = await other.getCheckpoint({ ...key, checkpointId }, call());
        return Buffer.from(state.fields['a'] ?? []).toString();
      }),
    );
    t.deepEqual(values, ['4', '3', '2', '1', '']);
    const { messagesJson } = await other.listMessages({ ...key, limit: 10, offset: 0 }, call());
    t.deepEqual(
      idsIn(messagesJson).filter((id) => /^m\d/.test(String(id))),
      ['m0', 'm1', 'm2', 'm3'],
    );
  });

  test('the end of a run is in the list of threads, however large the metadata of its thread', async (t) => {
    const [keyspace] = await (opening ??= opened());
    const errors: unknown[] = [];
    const store = await keyspace.open({ onError: (error) => void errors.push(error) });
    const threads = link(createThreads({ store }));
    const metadataJson = bytes(JSON.stringify({ text: 'x'.repeat(200_000) }));
    const { claimed } = await accept(threads, 'large', { claim: { workerId: 'w1' }, metadataJson });
    const at = Date.now();
    await commit(threads, 'large', claimed?.epoch ?? 0, { end: completed, at });
    const { threads: listed } = await threads.listThreads({ owner, limit: 1, offset: 0 }, call());
    t.is(listed[0]?.updatedAt, at);
    await store[Symbol.asyncDispose]();
    t.deepEqual(errors, []);
  });
});
