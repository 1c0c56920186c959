import type { Call } from '@agent-workflow/protos/call';
import type { Resource, Run, Thread } from '@agent-workflow/protos/threads';
import test from 'ava';
import { createFireDue } from './fire.ts';
import { toScheduleJson, type Schedule } from './schedule.ts';

/** A run that was to start later has ended on a thread that is not kept, whose newest run is `newest`. @returns the threads that are deleted */
async function sweptOf(newest: string): Promise<readonly string[]> {
  const schedule: Schedule = {
    spec: {
      timing: { at: 1 },
      ...{ jitterMs: 0, overlap: 'allow', catchUp: 'all', catchUpMs: 1, keepThreads: false, thread: 'new' },
    },
    ...{ run: {}, delayed: true, paused: false, pending: [] },
    past: [{ slot: 1, at: 1, cause: 'slot', outcome: 'started', runId: 'own', threadId: 'thread' }],
    unkept: [{ runId: 'own', threadId: 'thread', checkAt: 2 }],
  };
  const deleted: string[] = [];
  const fire = createFireDue({
    threads: {
      getRun: async () => ({ runId: 'own', status: 'completed' }) as Run,
      getThread: async () => ({ threadId: 'thread', runId: newest }) as Thread,
      putResource: async () => ({}) as never,
      deleteResource: async () => ({}) as never,
    },
    execution: {
      stopRun: async () => ({}) as never,
      deleteThread: async ({ threadId }) => {
        deleted.push(threadId);
        return {};
      },
    },
    refusalOf: async () => undefined,
    start: async () => undefined,
  });
  const resource = { kind: 'schedule', owner: 'ada', id: 'own', version: 1, json: toScheduleJson(schedule) };
  await fire(resource as Resource, { call: {} as Call, now: () => 3 } as Parameters<typeof fire>[1]);
  return deleted;
}

test('the thread of a run that started later goes with it, unless a later run has that thread', async (t) => {
  t.deepEqual(await sweptOf('own'), ['thread']);
  t.deepEqual(await sweptOf('other'), []);
});
