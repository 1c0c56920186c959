import { undefinedIfNotFound } from '@agent-workflow/kit/errors';
import type { ResourceCalls, Thread } from '@agent-workflow/protos/threads';
import type { HandleDue } from '@agent-workflow/runtime/due-sweep';
import { deleteThread, type DeleteParts } from './api/delete-thread.ts';
import { fromJson } from './record/json.ts';

/** A thread is looked at as often, in milliseconds: what another time has replaced does not stay for long. */
const mostWaitMs = 7 * 24 * 3_600_000;

const kind = 'expiry';

interface ExpiryParts extends DeleteParts {
  readonly threads: DeleteParts['threads'] & ResourceCalls;
}

/** Deletes a thread whose own time is over since its last change, unless a run holds it, or it waits and `WAIT_TTL` is not over. */
export function createHandleExpiry(parts: ExpiryParts, waitSeconds: number): HandleDue {
  const { threads } = parts;
  return async ({ owner, id, version, json }, { call, now }) => {
    const { threadId, ttl } = fromJson(json) as { readonly threadId: string; readonly ttl: number };
    const thread = await undefinedIfNotFound(threads.getThread({ owner, threadId }, call));
    if (thread?.ttlSeconds === ttl) {
      const dueAt = Math.min(expiryOf(thread, { ttl, waitSeconds, now: now() }), now() + mostWaitMs);
      if (dueAt > now()) {
        await threads.putResource({ kind, owner, id, version: version + 1, json, dueAt }, call);
        return;
      }
      await deleteThread(parts, { owner, threadId }, call);
    }
    await threads.deleteResource({ kind, owner, id, version }, call);
  };
}

interface Times {
  readonly ttl: number;
  readonly waitSeconds: number;
  readonly now: number;
}

/** When the thread expires as it is: one that a run holds not before its time after now. */
function expiryOf(
  { updatedAt, activeRunId, waitsFor }: Pick<Thread, 'updatedAt' | 'activeRunId' | 'waitsFor'>,
  { ttl, waitSeconds, now }: Times,
): number {
  if (activeRunId !== undefined) return now + ttl * 1000;
  if (waitsFor === undefined) return updatedAt + ttl * 1000;
  return waitSeconds === 0 ? Infinity : updatedAt + Math.max(ttl, waitSeconds) * 1000;
}
