import { idFrom } from '@agent-workflow/kit/ids';
import type { Decision } from '../ports/changes.ts';
import type { Head, ThreadKey } from '../ports/record.ts';
import type { ResourceWrite } from '../ports/resources.ts';
import { toJson } from '../record/json.ts';

/** The decision with a note of when the thread expires, where it gives the thread a time of its own. A sweep looks at the thread then. */
export function withExpiry<T>(
  decision: Decision<T>,
  { owner, threadId }: ThreadKey,
  before: Head | undefined,
): Decision<T> {
  const { change } = decision;
  const ttl = change?.head.ttl;
  if (!change || ttl === undefined || ttl === before?.ttl) return decision;
  const at = change.head.updatedAt;
  // Another each time: a note that is looked at while the same time is set anew does not stand for that.
  const id = idFrom(JSON.stringify([threadId, ttl, at]), 'expiry');
  const note: ResourceWrite = {
    ...({ kind: 'expiry', owner, id, version: 1, at, dueAt: at + ttl * 1000 } as const),
    attempt: idFrom(id, 'attempt'),
    json: toJson({ threadId, ttl }),
  };
  return { ...decision, change: { ...change, resources: [...(change.resources ?? []), note] } };
}
