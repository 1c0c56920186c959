import { setTimeout as delay } from 'node:timers/promises';
import test from 'ava';
import type { Head } from '@agent-workflow/threads/ports/record';
import type { ThreadStore } from '@agent-workflow/threads/ports/store';
import { entry, key, newHead, owner, run } from '../contract/thread-rows.ts';
import { openKeyspace, type Keyspace } from '../servers/cassandra-keyspace.ts';
import { cassandra } from '../servers/cassandra.ts';
import { openCqlProxy, type CqlProxy, type Exchange, type Fate } from '../servers/cql-proxy.ts';
import { withServer } from '../servers/real-suite.ts';
import { byLoad } from '../by-load.ts';

withServer(test, cassandra, (server) => {
  let opening: Promise<Keyspace> | undefined;
  const ours = (): Promise<Keyspace> => (opening ??= server().then(openKeyspace));
  test.after.always(async () => (await opening)?.[Symbol.asyncDispose]());

  /** A store that reaches the server through a proxy, and one that reaches it directly. */
  const open = async (deadlineMs = 20_000): Promise<Reach> => {
    const keyspace = await ours();
    const proxy = await openCqlProxy(keyspace.options.contactPoints[0] ?? '');
    const options = { contactPoints: [proxy.contactPoint], requestTimeoutMs: 1000, deadlineMs };
    const [store, direct] = await Promise.all([keyspace.open(options), keyspace.open()]);
    return {
      ...{ proxy, store, direct },
      [Symbol.asyncDispose]: async () => {
        proxy.judge = () => 'pass';
        await Promise.all([store[Symbol.asyncDispose](), direct[Symbol.asyncDispose]()]);
        await proxy[Symbol.asyncDispose]();
      },
    };
  };

  for (const fate of ['drop', 'cut'] as const) {
    test(`a change whose reply is lost (${fate}) is known to be written, and is made once`, async (t) => {
      await using reach = await open();
      const { proxy, store, direct } = reach;
      const at = { ...key, threadId: `lost-${fate}` };
      await count(store, at);
      const lost = firstOf(isConditional, fate);
      proxy.judge = lost.judge;
      t.is(await count(store, at), 2);
      t.true(lost.isOver());
      t.is((await direct.getHead(at))?.version, 2);
    });

    test(`a thread whose making is not answered (${fate}) is made once`, async (t) => {
      await using reach = await open();
      const { proxy, store, direct } = reach;
      const at = { ...key, threadId: `made-${fate}` };
      const lost = firstOf(isConditional, fate);
      proxy.judge = lost.judge;
      t.is(await count(store, at), 1);
      t.true(lost.isOver());
      t.is((await direct.getHead(at))?.version, 1);
    });

    test(`a change whose reply is lost (${fate}) while others write stands once among theirs`, async (t) => {
      await using reach = await open();
      const { proxy, store, direct } = reach;
      const at = { ...key, threadId: `among-${fate}` };
      await count(direct, at);
      const lost = firstOf(isConditional, fate);
      proxy.judge = lost.judge;
      const own = count(store, at);
      const others = await Promise.all(Array.from({ length: 20 }, () => count(direct, at)));
      const versions = [await own, ...others].toSorted((a, b) => a - b);
      t.true(lost.isOver());
      t.deepEqual(
        versions,
        Array.from({ length: 21 }, (_, index) => index + 2),
      );
    });
  }

  test('a change that cannot be resolved before its deadline is unavailable, not failed', async (t) => {
    await using reach = await open(2500);
    const { proxy, store, direct } = reach;
    const at = { ...key, threadId: 'dark' };
    await count(store, at);
    let isDark = false;
    proxy.judge = (exchange) => {
      isDark ||= exchange.isConditional;
      return isDark ? 'drop' : 'pass';
    };
    const error = await t.throwsAsync<Error & { code?: string; retryAfterMs?: number }>(count(store, at));
    t.is(error.code, 'Unavailable');
    t.is(error.retryAfterMs, 1000);
    t.notRegex(error.message, /127|localhost|:\d/);
    t.is((await direct.getHead(at))?.version, 2);
  });

  test('an attempt whose thread was removed and made again meanwhile is unavailable', async (t) => {
    await using reach = await open();
    const { proxy, store, direct } = reach;
    const at = { ...key, threadId: 'again' };
    await count(store, at);
    let remaking: Promise<void> | undefined;
    proxy.judge = (exchange) => {
      if (!exchange.isConditional || remaking) return remaking && isRemade ? 'pass' : 'drop';
      remaking = remake(direct, at).then(() => {
        isRemade = true;
      });
      return 'drop';
    };
    let isRemade = false;
    const error = await t.throwsAsync<Error & { code?: string }>(count(store, at));
    t.is(error.code, 'Unavailable');
    t.is((await direct.getHead(at))?.version, 1);
  });

  test('a request noted once stays the first when the answer to it is lost', async (t) => {
    await using reach = await open();
    const { proxy, store } = reach;
    await store.beginRequest(owner, 'before', { bodyHash: 'h', at: 1 });
    const lost = firstOf(({ isStatement }) => isStatement, 'drop');
    proxy.judge = lost.judge;
    t.is(await store.beginRequest(owner, 'lost', { bodyHash: 'h', at: 1 }), undefined);
    t.true(lost.isOver());
    t.deepEqual(await store.beginRequest(owner, 'lost', { bodyHash: 'other', at: 1 }), { bodyHash: 'h', at: 1 });
  });

  test('of many that make one thread at once each sees the one before', async (t) => {
    const keyspace = await ours();
    const stores = await Promise.all(Array.from({ length: 4 }, () => keyspace.open()));
    t.teardown(() => Promise.all(stores.map((store) => store[Symbol.asyncDispose]())));
    const at = { ...key, threadId: 'race' };
    const versions = await Promise.all(stores.flatMap((store) => Array.from({ length: 10 }, () => count(store, at))));
    t.deepEqual(
      versions.toSorted((a, b) => a - b),
      Array.from({ length: 40 }, (_, index) => index + 1),
    );
  });

  test('while the server is unavailable a change is refused at once, and taken when it is back', async (t) => {
    await using reach = await open(5000);
    const { proxy, store } = reach;
    const at = { ...key, threadId: 'away' };
    await count(store, at);
    proxy.judge = () => 'cut';
    proxy.cutAll();
    const begun = Date.now();
    const error = await t.throwsAsync<Error & { code?: string }>(count(store, at));
    t.is(error.code, 'Unavailable');
    t.true(Date.now() - begun < byLoad(5000));
    proxy.judge = () => 'pass';
    t.is(await eventually(() => count(store, at)), 2);
  });
});

interface Reach extends AsyncDisposable {
  readonly proxy: CqlProxy;
  readonly store: ThreadStore;
  readonly direct: ThreadStore;
}

type Place = typeof key;

/** Raises the version by one, from none. @returns the new one. */
const count = (store: ThreadStore, at: Place): Promise<number> =>
  store.change(at, { runs: ['r1'] }, ({ head }) => {
    const version = (head?.version ?? 0) + 1;
    const made: Head = { ...newHead, ...head, version };
    return { change: { head: made, messages: [entry(version)] }, reply: version };
  });

async function remake(store: ThreadStore, at: Place): Promise<void> {
  await store.change(at, {}, ({ head }) => ({
    change: { head: { ...newHead, ...head, deleting: true } },
    reply: undefined,
  }));
  await store.purge(at);
  await store.change(at, {}, () => ({
    change: { head: newHead, runs: [run('again', { threadId: at.threadId })] },
    reply: undefined,
  }));
}

const isConditional = (exchange: Exchange): boolean => exchange.isConditional;

interface Loss {
  readonly judge: (exchange: Exchange) => Fate;
  readonly isOver: () => boolean;
}

/** The first reply that is meant meets its fate, all others pass. */
function firstOf(isMeant: (exchange: Exchange) => boolean, fate: Fate): Loss {
  let isOver = false;
  return {
    judge: (exchange) => {
      if (isOver || !isMeant(exchange)) return 'pass';
      isOver = true;
      return fate;
    },
    isOver: () => isOver,
  };
}

async function eventually<T>(work: () => Promise<T>): Promise<T> {
  for (const until = Date.now() + 20_000; ;) {
    try {
      return await work();
    } catch (error) {
      if (Date.now() > until) throw error;
      await delay(50);
    }
  }
}
