import { notFound } from '@agent-workflow/kit/errors';
import { createLog } from '@agent-workflow/kit/log';
import type { Run } from '@agent-workflow/protos/threads';
import test from 'ava';
import { openEndWatch } from './end-watch.ts';

test('a run that is checked for long keeps no other waiting for its end', async (t) => {
  // The watch itself keeps no process alive.
  const alive = setInterval(() => undefined, 1000);
  t.teardown(() => clearInterval(alive));
  const stuck = Promise.withResolvers<Run>();
  const checked = Promise.withResolvers<string>();
  const threads = {
    getRun: ({ runId }: { runId: string }) => {
      if (runId === 'stuck') return stuck.promise;
      checked.resolve(runId);
      return Promise.reject(notFound('its thread is deleted'));
    },
  };
  const parts = { threads, eventLog: {}, known: {} } as unknown as Parameters<typeof openEndWatch>[0];
  await using watch = openEndWatch({ ...parts, worker: undefined, firstMs: 10, log: createLog('test', 'silent') });
  for (const runId of ['stuck', 'other']) watch.watch('u:ada', runId);
  t.is(await checked.promise, 'other');
  stuck.reject(notFound('its thread is deleted'));
});
