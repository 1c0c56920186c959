import { setTimeout as delay } from 'node:timers/promises';
import { getKey, listKeyIds, listKeys, makeKey, revokeKey } from '@agent-workflow/gateway/api-keys/kept-key';
import { openLiveKeys, type LiveKeys } from '@agent-workflow/gateway/api-keys/live-keys';
import { unavailable } from '@agent-workflow/kit/errors';
import { createLog } from '@agent-workflow/kit/log';
import { within } from '@agent-workflow/protos/call';
import type { ResourceCalls } from '@agent-workflow/protos/threads';
import { link } from '@agent-workflow/protos/wire/link';
import { openSqliteThreadStore } from '@agent-workflow/threads/adapters/sqlite/store';
import { openThreads } from '@agent-workflow/threads/open';
import test, { type ExecutionContext } from 'ava';
import { byLoad } from '../by-load.ts';
import { until } from '../until.ts';

const log = createLog('test', 'silent');
const call = () => within(10_000);
const terms = { user: 'ada', roles: ['manager'], scopes: ['*'], name: '', expiresAt: Date.now() + 3_600_000 };

function openRecord(t: ExecutionContext): ResourceCalls {
  const store = openSqliteThreadStore({ path: ':memory:' });
  const opened = openThreads({ store, values: { CHECKPOINT_KEEP: 1, CHECKPOINT_TTL: 0, OPEN_QUESTIONS: 1 }, log });
  t.teardown(() => opened[Symbol.asyncDispose]());
  return link(opened.threads);
}

function openKeys(t: ExecutionContext, threads: ResourceCalls): LiveKeys {
  const keys = openLiveKeys({ threads, log });
  t.teardown(() => keys[Symbol.asyncDispose]());
  return keys;
}

async function foundBy(t: ExecutionContext, keys: LiveKeys, id: string) {
  const key = await keys.find(id);
  if (!key) throw new Error('the key is not found');
  t.is(key.user, 'ada');
  return key;
}

test('keys are listed, the newest first, and a revoked one is gone, also when its use is written down meanwhile', async (t) => {
  const threads = openRecord(t);
  const made = [];
  for (let index = 0; index < 205; index += 1) {
    made.push((await makeKey({ ...terms, name: `key ${String(index)}` }, threads, call)).id);
    if (index > 200) await delay(2);
  }
  const listed = await listKeys(threads, call);
  t.deepEqual(
    listed.slice(0, 3).map(({ id }) => id),
    made.slice(-3).toReversed(),
  );
  const ids: string[] = [];
  for await (const page of listKeyIds(threads, call)) ids.push(...page.ids);
  t.deepEqual(ids.toSorted(), made.toSorted());
  const [id = ''] = made;
  const keys = openKeys(t, threads);
  keys.noteUse(await foundBy(t, keys, id));
  t.true(await revokeKey(id, threads, call));
  await delay(50);
  t.is(await getKey(id, threads, call()), undefined);
  t.false(await revokeKey(id, threads, call));
});

test('the time of the last use is written by one of several gateways that see it at the same moment', async (t) => {
  const threads = openRecord(t);
  const { id } = await makeKey(terms, threads, call);
  let writes = 0;
  const counting: ResourceCalls = {
    ...threads,
    putResource: (...given) => {
      writes += 1;
      return threads.putResource(...given);
    },
  };
  const gateways = [1, 2, 3].map(() => openKeys(t, counting));
  for (let round = 0; round < 20; round += 1)
    await Promise.all(gateways.map(async (keys) => keys.noteUse(await foundBy(t, keys, id))));
  await until(async () => (await getKey(id, threads, call()))?.lastUsedAt !== undefined);
  t.true(writes <= 3);
  t.is((await getKey(id, threads, call()))?.version, 2);
});

test('a key is read once for any number of requests, and one that is none, too', async (t) => {
  const threads = openRecord(t);
  const { id } = await makeKey(terms, threads, call);
  let reads = 0;
  const counting: ResourceCalls = {
    ...threads,
    getResource: (...given) => {
      reads += 1;
      return threads.getResource(...given);
    },
  };
  const keys = openKeys(t, counting);
  for (const some of [id, 'none']) await Promise.all(Array.from({ length: 100 }, async () => keys.find(some)));
  for (let index = 0; index < 100; index += 1) await Promise.all([keys.find(id), keys.find('none')]);
  t.is(reads, 2);
});

test('three gateways end what a revoked key has let in, and refuse it, within 5 s; what another key has let in goes on', async (t) => {
  const threads = openRecord(t);
  const [revoked, other] = [await makeKey(terms, threads, call), await makeKey(terms, threads, call)];
  const gateways = [1, 2, 3].map(() => openKeys(t, threads));
  const ended: number[] = [];
  let endedOther = 0;
  let revokedAt = Infinity;
  for (const keys of gateways)
    for (let request = 0; request < 20; request += 1) {
      keys.hold(await foundBy(t, keys, revoked.id), () => ended.push(Date.now() - revokedAt));
      keys.hold(await foundBy(t, keys, other.id), () => (endedOther += 1));
    }
  // Requests come all the while.
  const life = new AbortController();
  const letIn: number[] = [];
  const load = gateways.map(async (keys) => {
    while (!life.signal.aborted) {
      if (await keys.find(revoked.id)) letIn.push(Date.now() - revokedAt);
      await delay(5);
    }
  });
  await delay(1500);
  revokedAt = Date.now();
  t.true(await revokeKey(revoked.id, threads, call));
  await delay(5000);
  life.abort();
  await Promise.all(load);
  t.is(ended.length, 60);
  t.true(Math.max(...ended) < byLoad(5000), `the last ended after ${String(Math.max(...ended))} ms`);
  t.true(Math.max(...letIn) < byLoad(5000), `the last was let in after ${String(Math.max(...letIn))} ms`);
  t.is(endedOther, 0);
});

test('of more keys than are read one by one the list of all says which are revoked, though a page of it fails', async (t) => {
  const threads = openRecord(t);
  const made = [];
  for (let index = 0; index < 1100; index += 1) made.push((await makeKey(terms, threads, call)).id);
  let pages = 0;
  const keys = openKeys(t, {
    ...threads,
    listResourceMarks: (...given) =>
      (pages += 1) % 2 === 0 ? Promise.reject(unavailable('away')) : threads.listResourceMarks(...given),
  });
  const ended: string[] = [];
  for (const id of made) keys.hold(await foundBy(t, keys, id), () => ended.push(id));
  // The first page is of the greatest ids.
  const [first = '', ...others] = made.toSorted().toReversed();
  t.true(await revokeKey(first, threads, call));
  await until(() => ended.length > 0);
  t.is(ended[0], first);
  t.true(others.length === 1099);
});

test('where the record does not answer, what a key has let in ends within 5 s, and its requests are refused as long', async (t) => {
  const threads = openRecord(t);
  const { id } = await makeKey(terms, threads, call);
  let isAway = false;
  const failing = <T>(given: () => Promise<T>): Promise<T> =>
    isAway ? delay(1000).then(() => Promise.reject(unavailable('away'))) : given();
  const keys = openKeys(t, {
    ...threads,
    getResource: (...given) => failing(() => threads.getResource(...given)),
    listResourceMarks: (...given) => failing(() => threads.listResourceMarks(...given)),
  });
  let endedAt = 0;
  keys.hold(await foundBy(t, keys, id), () => (endedAt = Date.now()));
  await delay(1200);
  isAway = true;
  const begun = Date.now();
  t.truthy(await keys.find(id), 'what was read a moment ago still counts');
  await until(() => endedAt > 0);
  t.true(endedAt - begun < byLoad(5000), String(endedAt - begun));
  await t.throwsAsync(keys.find(id), { name: 'Unavailable' });
  isAway = false;
  t.truthy(await keys.find(id));
});

test('what a key has let in ends when the key expires', async (t) => {
  const threads = openRecord(t);
  const { id } = await makeKey({ ...terms, expiresAt: Date.now() + 800 }, threads, call);
  const keys = openKeys(t, threads);
  const ended = Promise.withResolvers<undefined>();
  keys.hold(await foundBy(t, keys, id), () => ended.resolve(undefined));
  using unused = keys.hold(await foundBy(t, keys, id), () => t.fail('it was over'));
  unused[Symbol.dispose]();
  await ended.promise;
  t.pass();
});
