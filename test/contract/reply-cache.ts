import type { ExecutionContext, TestFn } from 'ava';
import { replyTtlMs, type ReplyCache } from '@agent-workflow/gateway/idempotency';

/** An empty cache, and its clock. */
interface OpenedReplyCache {
  readonly cache: ReplyCache;
  /** Lets so many milliseconds of the cache's own time pass. */
  readonly pass: (ms: number) => Promise<void>;
}

/** Longer than a slow machine takes between two lines, in milliseconds: how near a test goes to an end. */
const nearMs = 60_000;

const reply = (value: unknown, bodyHash = 'hash'): Parameters<ReplyCache['put']>[1] => ({
  bodyHash,
  replyJson: Buffer.from(JSON.stringify(value)),
});

/** What any cache of replies must promise. `open` gives an empty one each time. */
export function replyCacheContract(
  test: TestFn,
  name: string,
  open: (t: ExecutionContext) => Promise<OpenedReplyCache>,
): void {
  const check = (title: string, body: (t: ExecutionContext, opened: OpenedReplyCache) => Promise<void>): void => {
    test(`${name}: ${title}`, async (t) => {
      const opened = await open(t);
      await using cache = opened.cache;
      await body(t, { ...opened, cache });
    });
  };
  const read = async (cache: ReplyCache, key: string): Promise<unknown> => {
    const kept = await cache.get(key);
    return kept && [kept.bodyHash, JSON.parse(Buffer.from(kept.replyJson).toString())];
  };

  check('a key under which nothing was kept has nothing', async (t, { cache }) => {
    await cache.put('a', reply(1));
    for (const key of ['b', 'A', 'a ', '', '*', '__proto__']) t.is(await cache.get(key), undefined, key);
  });

  check('a reply comes back byte for byte, with the hash of its body', async (t, { cache }) => {
    const values = [
      null,
      '',
      'ä日本😀',
      'two\nlines\r\n\n',
      '"\\\u0000',
      { data: '{"data":1}' },
      'x'.repeat(1024 * 1024),
    ];
    for (const [index, value] of values.entries())
      await cache.put(String(index), reply(value, `hash-${String(index)}`));
    for (const [index, value] of values.entries()) {
      const kept = await cache.get(String(index));
      t.is(kept?.bodyHash, `hash-${String(index)}`);
      t.is(Buffer.compare(kept?.replyJson ?? Buffer.alloc(0), reply(value).replyJson), 0, String(index));
    }
  });

  check('keys have replies of their own, also when all are kept at once', async (t, { cache }) => {
    const keys = Array.from({ length: 50 }, (_, index) => `key-${String(index)}`);
    await Promise.all(keys.map((key) => cache.put(key, reply(key))));
    t.deepEqual(
      await Promise.all(keys.map((key) => read(cache, key))),
      keys.map((key) => ['hash', key]),
    );
  });

  check('a reply is kept for a day', async (t, { cache, pass }) => {
    await cache.put('a', reply(1));
    await pass(replyTtlMs - nearMs);
    t.deepEqual(await read(cache, 'a'), ['hash', 1]);
    await pass(nearMs);
    t.is(await cache.get('a'), undefined);
  });
}
