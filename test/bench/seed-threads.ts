import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { anonymousOwner, newId } from '@agent-workflow/kit/ids';
import type { Change } from '@agent-workflow/threads/ports/changes';
import type { ThreadStore } from '@agent-workflow/threads/ports/store';
import { openSqliteThreadStore } from '@agent-workflow/threads/adapters/sqlite/store';

interface Seed {
  readonly threads: number;
  /** The agents of the threads, in turn. */
  readonly agents: readonly string[];
  /** Changes that are made together, and on SQLite share a write to the disk; 1,000 when absent. */
  readonly atOnce?: number;
}

export const seededThread = (index: number): string => `thread-${index}`;

/** How far the updates of two threads are apart, in milliseconds. */
const apartMs = 100;

/** Puts threads of one completed run and two messages on record, as the service leaves them, without running anything. */
export async function seedThreads(
  store: Pick<ThreadStore, 'change'>,
  { threads, agents, atOnce = 1000 }: Seed,
): Promise<void> {
  const begin = Date.now() - threads * apartMs;
  for (let from = 0; from < threads; from += atOnce)
    await Promise.all(
      Array.from({ length: Math.min(atOnce, threads - from) }, (_, offset) => {
        const index = from + offset;
        const change = changeOf(seededThread(index), agents[index % agents.length] ?? '', begin + index * apartMs);
        const key = { owner: anonymousOwner, threadId: seededThread(index) };
        return store.change(key, {}, () => ({ change, reply: undefined }));
      }),
    );
}

/** The same into the data folder of a service that does not run. */
export async function seedFolder(folder: string, seed: Seed): Promise<void> {
  const data = join(folder, 'data');
  mkdirSync(data, { recursive: true });
  await using store = openSqliteThreadStore({ path: join(data, 'threads.sqlite') });
  await seedThreads(store, seed);
}

function changeOf(threadId: string, agent: string, at: number): Change {
  const runId = newId();
  const messages = (['user', 'assistant'] as const).map((role, position) => {
    const messageId = newId();
    const content = [{ type: 'text', text: 'hello there' }];
    const timestamp = new Date(at).toISOString();
    return {
      position,
      messageId,
      json: Buffer.from(JSON.stringify({ message_id: messageId, role, content, timestamp })),
    };
  });
  const version = at * 1000;
  const context = messages.reduce((sum, { json }) => sum + json.byteLength + 1, 0);
  return {
    messages,
    head: {
      ...{ createdAt: at, updatedAt: at, version, epoch: 1, step: 1, newestRun: runId, agent, queue: [] },
      ...{ nextPosition: messages.length, openCalls: [], next: [], openInterrupts: [], claims: 0 },
      ...{ size: { fields: 0, context }, deleting: false },
    },
    runs: [
      {
        ...{ runId, threadId, requestId: newId(), status: 'completed', granularity: 'low', isNewThread: true },
        ...{ createdAt: at, updatedAt: at, options: Buffer.from('{}'), answers: [], hasNewInput: true },
        ...{
          end: { status: 'completed', iterations: 1, recursionLimitReached: false },
          outputFrom: 1,
          outputTo: messages.length,
        },
      },
    ],
  };
}
