import { conflict } from '@agent-workflow/kit/errors';
import type { Change } from '../ports/changes.ts';
import type { Head } from '../ports/record.ts';
import type { Overlay } from './overlay.ts';
import { encodeUndo, markOf, type Mark } from './undo.ts';

/** The head with the values of the mark. */
export function marked(
  { interruptedRun: _, progress: _progress, addressed: _questions, answeredByOthers: _others, ...head }: Head,
  mark: Mark,
): Head {
  return { ...head, ...mark };
}

/** What puts rows back to what they were. */
export function restored({
  fields,
  places,
}: Overlay): Pick<Change, 'fields' | 'messages' | 'addedToContext' | 'removedFromContext' | 'deleted'> {
  const all = [...places];
  return {
    fields: Object.fromEntries(fields),
    messages: all.flatMap(([, { entry }]) => entry ?? []),
    addedToContext: all.flatMap(([position, { entry, inContext }]) => (!entry && inContext ? [position] : [])),
    removedFromContext: all.flatMap(([position, { inContext, isAbsent }]) => (inContext || isAbsent ? [] : [position])),
    deleted: all.flatMap(([position, { isAbsent }]) => (isAbsent ? [position] : [])),
  };
}

/** The head after a restore that was made of this version of it. What changes without a version, as the name, is as it is now. */
export const restoredHead = (head: Head, { head: after }: Pick<Change, 'head'>): Head => ({
  ...marked(head, markOf(after)),
  version: after.version,
  updatedAt: Math.max(head.updatedAt, after.updatedAt),
});

/** A restore that one change does not hold. */
export const tooFarBack = (checkpointId: string, what: string): Error =>
  conflict(`checkpoint "${checkpointId}" is too far back to be restored: ${what}; fork it instead`);

/** All undo records of the overlay as one. */
export const joined = ({ fields, places }: Overlay, mark: Mark): Uint8Array =>
  encodeUndo({
    mark,
    fields: [...fields],
    entries: [...places.values()].flatMap(({ entry, inContext }) => (entry ? [{ ...entry, inContext }] : [])),
    removed: [...places].flatMap(([position, { entry, inContext }]) => (!entry && inContext ? [position] : [])),
  });
