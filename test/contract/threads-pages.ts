import type { ExecutionContext, TestFn } from 'ava';
import fc from 'fast-check';
import { isServiceError } from '@agent-workflow/kit/errors';
import { sizes } from '@agent-workflow/kit/sizes';
import { within } from '@agent-workflow/protos/call';
import type { Threads } from '@agent-workflow/protos/threads';
import {
  accept,
  acceptAndClaim,
  assistant,
  bytes,
  call,
  claim,
  commit,
  completed,
  idsIn,
  owner,
  passMillisecond,
  thread1,
  user,
} from './thread-calls.ts';
import type { OpenThreads, Scale } from './thread-stores/threads-open.ts';
import { byLoad } from '../by-load.ts';

/** A page of any list: names of its items, how many bytes they take, and where the list goes on. */
interface Walked {
  readonly ids: readonly unknown[];
  readonly bytes: number;
  readonly cursor?: string | undefined;
}

type List = (page: { limit: number; offset: number; cursor?: string }) => Promise<Walked>;

/** What the record promises of lists whose items are large: pages end by their bytes, and nothing is missed or given twice. */
export function threadsPagesContract(
  test: TestFn,
  name: string,
  { open, scale }: { readonly open: OpenThreads; readonly scale: Scale },
): void {
  const check = (title: string, body: (t: ExecutionContext, threads: Threads) => Promise<void>): void => {
    // One after the other: they hold the process, and with it the other tests of the file, for long.
    test.serial(`${name}: ${title}`, async (t) => {
      t.timeout(byLoad(240_000));
      await using threads = await open();
      await body(t, threads);
    });
  };

  test.serial(
    `${name}: whatever messages weigh, walks by cursor and by offset give each once, in order, in pages that end by bytes`,
    async (t) => {
      t.timeout(byLoad(240_000));
      const size = fc.oneof(fc.integer({ min: 1, max: 2000 }), fc.constantFrom(700_000, 1_300_000, 1_900_000));
      await fc.assert(
        fc.asyncProperty(
          fc.array(size, { minLength: 1, maxLength: 9 }),
          fc.integer({ min: 1, max: 12 }),
          async (lengths, limit) => {
            await using threads = await open();
            const ids = await fill(threads, lengths);
            await walked(t, messagesOf(threads), { ids, limit });
          },
        ),
        { numRuns: Math.max(2, scale.stories), examples: [[[1_900_000, 1_900_000, 1_900_000, 10, 20], 1000]] },
      );
    },
  );

  check('a search in large messages gives pages that end by bytes, too', async (t, threads) => {
    const ids = await fill(threads, [1_900_000, 10, 1_900_000, 1_900_000, 10]);
    await walked(t, messagesOf(threads, 'xxx'), { ids, limit: 1000 });
    t.deepEqual((await messagesOf(threads, 'yyy')({ limit: 10, offset: 0 })).ids, []);
  });

  check('threads whose metadata is large are listed in pages that end by bytes', async (t, threads) => {
    const metadataJson = bytes(JSON.stringify({ note: 'n'.repeat(sizes.metadata - 100) }));
    const ids = Array.from({ length: 20 }, (_, index) => `t${String(index).padStart(2, '0')}`);
    for (const threadId of ids) {
      await accept(threads, `r-${threadId}`, { threadId, metadataJson });
      await passMillisecond();
    }
    await walked(t, threadsOf(threads), { ids: ids.toReversed(), limit: 1000 });
    await walked(t, threadsOf(threads), { ids: ids.toReversed(), limit: 7 });
    await walked(t, threadsOf(threads, 'nnn'), { ids: ids.toReversed(), limit: 1000 });
  });

  check('checkpoints whose metadata is large are listed in pages that end by bytes', async (t, threads) => {
    const metadataJson = bytes(JSON.stringify({ note: 'n'.repeat(sizes.metadata - 100) }));
    await accept(threads, 'r1');
    await threads.endRun({ owner, runId: 'r1', status: 'stopped' }, call());
    const notes = Array.from({ length: 18 }, (_, index) => user(`u${String(index)}`));
    for (const note of notes) await threads.addMessages({ ...thread1, messages: [note], metadataJson }, call());
    const { ids, pages } = await byCursor(checkpointsOf(threads), 1000);
    t.is(new Set(ids).size, notes.length);
    t.true(pages > 1);
    await walked(t, checkpointsOf(threads), { ids, limit: 1000 });
  });

  check('runs are listed without what they were given, however large that is', async (t, threads) => {
    const ids = ['r1', 'r2', 'r3', 'r4'];
    for (const runId of ids) {
      await accept(threads, runId, { messages: [user(`m-${runId}`, 'x'.repeat(1_500_000))] });
      await passMillisecond();
    }
    const page = await threads.listRuns({ ...thread1, limit: 10, offset: 0 }, call());
    t.deepEqual(
      page.runs.map(({ runId }) => runId),
      ids.toReversed(),
    );
    t.is(page.cursor, undefined);
  });

  check('what a run added comes in pages, and whoever takes the run over gets its newest', async (t, threads) => {
    const large = (id: string) => ({ ...user(id, 'x'.repeat(1_900_000)) });
    const { epoch } = await acceptAndClaim(threads, 'r1');
    const added = [assistant('a0'), large('b1'), large('b2'), large('b3')];
    for (const [step, message] of added.entries())
      await commit(threads, 'r1', epoch, {
        step,
        messages: [message],
        next: ['a'],
        // They leave the context, which has a bound; the log has none.
        removedFromContext: step === 0 ? [] : [added[step - 1]?.messageId ?? ''],
      });
    const pages: unknown[][] = [];
    for (let cursor: string | undefined; pages.length === 0 || cursor !== undefined;) {
      const after = cursor === undefined ? {} : { cursor };
      const page = await threads.listRunMessages({ owner, runId: 'r1', ...after }, call());
      t.true(page.messagesJson.byteLength <= sizes.page);
      pages.push(idsIn(page.messagesJson));
      ({ cursor } = page);
    }
    t.deepEqual(pages.flat(), ['a0', 'b1', 'b2', 'b3']);
    t.true(pages.length > 1);

    const taken = await claim(threads, 'r1', { workerId: 'w2', takeoverEpoch: epoch });
    t.deepEqual(idsIn(taken.outputJson), ['b2', 'b3']);
    t.true(taken.outputIsPartial);
    t.is((JSON.parse(Buffer.from(taken.outputReplyJson ?? []).toString()) as { message_id: string }).message_id, 'a0');
  });

  check('an offset has no bound, and a list that takes too long ends at its deadline', async (t, threads) => {
    await fill(threads, [10, 1_900_000, 1_900_000, 1_900_000]);
    for (const offset of [4, 25_000, 1_000_000_000]) {
      const page = { ...thread1, limit: 10, offset };
      t.deepEqual(idsIn((await threads.listMessages(page, call())).messagesJson), []);
      t.deepEqual((await threads.listThreads({ owner, limit: 10, offset }, call())).threads, []);
      t.deepEqual((await threads.listRuns(page, call())).runs, []);
    }
    // A fast machine is through with all of it in less than the shortest deadline, now and then.
    const search = { ...thread1, limit: 10, offset: 0, search: 'yyy' };
    let failure: unknown;
    for (let tries = 0; failure === undefined && tries < 1000; tries += 1)
      failure = await threads.listMessages(search, within(1)).then(
        () => undefined,
        (error: unknown) => error,
      );
    t.true(isServiceError(failure, 'Timeout'), String(failure));
  });

  check('a run that is finished is listed as it ended', async (t, threads) => {
    const { epoch } = await acceptAndClaim(threads, 'r1');
    await commit(threads, 'r1', epoch, { end: completed });
    const { runs } = await threads.listRuns({ ...thread1, limit: 1, offset: 0 }, call());
    t.like(runs[0], { runId: 'r1', status: 'completed', end: completed });
  });
}

/** Fills the thread's log with messages of these lengths; gives their ids. */
async function fill(threads: Threads, lengths: readonly number[]): Promise<string[]> {
  await accept(threads, 'r1', { messages: [], hasNewInput: false });
  await threads.endRun({ owner, runId: 'r1', status: 'stopped' }, call());
  const ids: string[] = [];
  for (const [index, length] of lengths.entries()) {
    const id = `m${String(index)}`;
    await threads.addMessages({ ...thread1, messages: [user(id, 'x'.repeat(length))] }, call());
    // The context has a bound; the log has none.
    await threads.clearState(thread1, call());
    ids.push(id);
  }
  return ids;
}

const messagesOf =
  (threads: Threads, search?: string): List =>
  async (page) => {
    const { messagesJson, cursor } = await threads.listMessages(
      { ...thread1, ...page, ...(search === undefined ? {} : { search }) },
      call(),
    );
    return { ids: idsIn(messagesJson), bytes: messagesJson.byteLength, cursor };
  };

const threadsOf =
  (threads: Threads, search?: string): List =>
  async (page) => {
    const reply = await threads.listThreads({ owner, ...page, ...(search === undefined ? {} : { search }) }, call());
    const metadata = reply.threads.map(({ metadataJson }) => metadataJson?.byteLength ?? 0);
    return {
      ids: reply.threads.map(({ threadId }) => threadId),
      bytes: metadata.reduce((sum, size) => sum + size, 0),
      cursor: reply.cursor,
    };
  };

const checkpointsOf =
  (threads: Threads): List =>
  async (page) => {
    const { checkpoints, cursor } = await threads.listCheckpoints({ ...thread1, ...page }, call());
    const metadata = checkpoints.map(({ metadataJson }) => metadataJson?.byteLength ?? 0);
    return {
      ids: checkpoints.map(({ checkpointId }) => checkpointId),
      bytes: metadata.reduce((sum, size) => sum + size, 0),
      cursor,
    };
  };

/** Walks a list both ways and holds that each walk gives all its items, in order, in pages that are full and not too large. */
async function walked(
  t: ExecutionContext,
  list: List,
  { ids, limit }: { readonly ids: readonly unknown[]; readonly limit: number },
): Promise<void> {
  const bound = (page: Walked): void => {
    t.true(page.ids.length === 1 || page.bytes <= sizes.page, `a page of ${String(page.bytes)} bytes`);
    t.true(page.ids.length <= limit);
  };
  t.deepEqual((await byCursor(list, limit, bound)).ids, ids);
  const byOffset: unknown[] = [];
  for (;;) {
    const page = await list({ limit, offset: byOffset.length });
    bound(page);
    byOffset.push(...page.ids);
    // The list says that there is more exactly when there is.
    t.is(page.cursor !== undefined, byOffset.length < ids.length);
    if (page.cursor === undefined) break;
  }
  t.deepEqual(byOffset, ids);
}

async function byCursor(
  list: List,
  limit: number,
  each: (page: Walked) => void = () => undefined,
): Promise<{ readonly ids: readonly unknown[]; readonly pages: number }> {
  const ids: unknown[] = [];
  for (let cursor: string | undefined, pages = 1; ; pages++) {
    const page: Walked = await list({ limit, offset: 0, ...(cursor === undefined ? {} : { cursor }) });
    each(page);
    ids.push(...page.ids);
    ({ cursor } = page);
    if (cursor === undefined) return { ids, pages };
  }
}
