import { ServiceError } from '@agent-workflow/kit/errors';
import { createLog } from '@agent-workflow/kit/log';
import { within } from '@agent-workflow/protos/call';
import type { Memory } from '@agent-workflow/protos/memory';
import type { Threads } from '@agent-workflow/protos/threads';
import test from 'ava';
import { createHeldGrants } from './held-grants.ts';

test('a refusal that is met again and again is logged once, with its reason, which the run does not get', async (t) => {
  const lines: unknown[] = [];
  const log = Object.assign(createLog('test', 'silent'), { error: (fields: unknown) => lines.push(fields) });
  const refuse = (): Promise<never> => Promise.reject(new ServiceError('PermissionDenied', 'another GRANT_SECRET'));
  const { memory } = createHeldGrants({ log }).bind({
    threads: {} as Threads,
    memory: { store: refuse, delete: refuse } as unknown as Memory,
  });
  const request = { owner: 'u:ada', memoryId: 'm', attemptId: 'a' };
  for (let turn = 0; turn < 3; turn++)
    await t.throwsAsync(memory.delete(request, within(1000)), { message: 'a call of the worker was not allowed' });
  await t.throwsAsync(memory.store(request as unknown as Parameters<Memory['store']>[0], within(1000)));
  t.deepEqual(lines, [
    { method: 'memory.delete', why: 'another GRANT_SECRET' },
    { method: 'memory.store', why: 'another GRANT_SECRET' },
  ]);
});
