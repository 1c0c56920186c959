import type { ExecutionContext, TestFn } from 'ava';
import fc from 'fast-check';
import { link } from '@agent-workflow/protos/wire/link';
import type { ThreadStore } from '@agent-workflow/threads/ports/store';
import { createThreads } from '@agent-workflow/threads/threads';
import { call, owner, thread1 } from './thread-calls.ts';
import type { TestedStore } from './thread-stores/tested.ts';
import { happening, openStory } from './thread-story.ts';
import { byLoad } from '../by-load.ts';

/** What a record promises of the size of a thread that stands in its head. */
export function threadSizesContract(test: TestFn, { name, openPart: open, sizeStories: stories }: TestedStore): void {
  test(`${name}: whatever happens to a thread, its head holds the size of its fields and context`, async (t) => {
    t.timeout(byLoad(120_000));
    await fc.assert(
      fc.asyncProperty(fc.array(happening, { minLength: 5, maxLength: 30 }), async (happenings) => {
        await using store = await open();
        const threads = link(createThreads({ store }));
        const story = openStory(t, threads);
        for (const each of happenings) {
          await story.play(each);
          await compare(t, store, 't1', each.kind);
        }
        for (const checkpointId of [...story.kept.keys()].slice(-3)) {
          const newThreadId = `fork-${checkpointId}`;
          await threads.forkThread({ ...thread1, checkpointId, newThreadId }, call());
          await compare(t, store, newThreadId, 'fork');
        }
      }),
      { numRuns: stories },
    );
  });
}

/** Holds the size in the head against what is there. */
async function compare(t: ExecutionContext, store: ThreadStore, threadId: string, title: string): Promise<void> {
  const key = { owner, threadId };
  const head = await store.getHead(key);
  if (!head) return;
  const { fields, context } = await store.getState(key);
  const real = {
    fields: Object.entries(fields).reduce((sum, [name, json]) => sum + Buffer.byteLength(name) + json.byteLength, 0),
    context: context.reduce((sum, json) => sum + json.byteLength + 1, 0),
  };
  t.deepEqual(head.size, real, title);
}
