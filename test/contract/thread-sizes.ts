import type { ExecutionContext, TestFn } from 'ava';
import fc from 'fast-check';
import { link } from '@agent-workflow/protos/wire/link';
import type { ThreadStore } from '@agent-workflow/threads/ports/store';
import { createThreads } from '@agent-workflow/threads/threads';
import { assistant, call, finishedTurn, owner, thread1, user } from './thread-calls.ts';
import type { TestedStore } from './thread-stores/tested.ts';
import { happening, openStory } from './thread-story.ts';
import { byLoad } from '../by-load.ts';

/** What a record promises of the size of a thread that stands in its head. */
export function threadSizesContract(test: TestFn, { name, openPart: open, sizeStories: stories }: TestedStore): void {
  test(`${name}: whatever happens to a thread, its head holds the size of its fields and context`, async (t) => {
    t.timeout(byLoad(120_000));
    await fc.assert(
      fc.asyncProperty(
        fc.array(happening, { minLength: 5, maxLength: 30 }),
        fc.nat(29),
        async (happenings, forgotten) => {
          await using store = await open();
          const threads = link(createThreads({ store }));
          const story = openStory(t, threads);
          for (const [index, each] of happenings.entries()) {
            if (index === forgotten) await forgetSize(store, 't1');
            await story.play(each);
            await compare(t, store, 't1', each.kind);
          }
          for (const checkpointId of [...story.kept.keys()].slice(-3)) {
            const newThreadId = `fork-${checkpointId}`;
            await threads.forkThread({ ...thread1, checkpointId, newThreadId }, call());
            await compare(t, store, newThreadId, 'fork');
          }
        },
      ),
      { numRuns: stories },
    );
  });

  test(`${name}: a thread that an earlier version wrote is measured with its next write, and never again`, async (t) => {
    await using store = await open();
    let measured = 0;
    const counting: ThreadStore = {
      ...store,
      measure: (key) => {
        measured += 1;
        return store.measure(key);
      },
    };
    const threads = link(createThreads({ store: counting }));
    await finishedTurn(threads, 'r1');
    await forgetSize(store, 't1');
    t.is((await store.getHead(thread1))?.size, undefined);
    await threads.addMessages({ ...thread1, messages: [user('u1')] }, call());
    await compare(t, store, 't1', 'add');
    await threads.addMessages({ ...thread1, messages: [assistant('a1')] }, call());
    t.is(measured, 1);
    t.truthy((await store.getHead(thread1))?.size);
  });
}

/** Leaves the head as a service wrote it that knew nothing of sizes. */
const forgetSize = (store: ThreadStore, threadId: string): Promise<void> =>
  store.change({ owner, threadId }, {}, ({ head }) => {
    if (!head) return { reply: undefined };
    const { size: _, ...rest } = head;
    return { change: { head: rest }, reply: undefined };
  });

/** Holds the size in the head, where it is, against what is there. */
async function compare(t: ExecutionContext, store: ThreadStore, threadId: string, title: string): Promise<void> {
  const key = { owner, threadId };
  const head = await store.getHead(key);
  if (!head) return;
  const { fields, context } = await store.getState(key);
  const real = {
    fields: Object.entries(fields).reduce((sum, [name, json]) => sum + Buffer.byteLength(name) + json.byteLength, 0),
    context: context.reduce((sum, json) => sum + json.byteLength + 1, 0),
  };
  if (head.size) t.deepEqual(head.size, real, title);
  t.deepEqual(await store.measure(key), { version: head.version, ...real }, title);
}
