import { conflict } from '@agent-workflow/kit/errors';
import { bytesOver, sizes } from '@agent-workflow/kit/sizes';
import type { RestoreThreadRequest } from '@agent-workflow/protos/threads';
import type { Changing } from './changing.ts';
import { keyOf, liveHead } from './found.ts';
import type { QuestionBound } from './question-bound.ts';
import type { References } from '../files/references.ts';
import type { Change } from '../ports/changes.ts';
import type { ThreadHistory } from '../ports/history.ts';
import type { ThreadReads } from '../ports/reads.ts';
import type { Head, PlacedEntry, ThreadKey } from '../ports/record.ts';
import { askedAnew, refuseDropping } from '../record/addressed.ts';
import { toJson } from '../record/json.ts';
import { dropDeadlines } from '../runs/commit.ts';
import { versionConflict, writableHead } from '../state/write.ts';
import { withoutApproval } from '../history/approved.ts';
import { absent, placeOf } from '../history/checkpoints.ts';
import { entriesBetween } from '../history/fork.ts';
import type { Overlay } from '../history/overlay.ts';
import { overlayOf } from '../history/past.ts';
import { marked, restored, restoredHead, tooFarBack } from '../history/restore.ts';
import { encodeUndo, markOf, refusalOfChange, type Mark, type Undo } from '../history/undo.ts';

interface RestoreParts {
  readonly store: ThreadReads & ThreadHistory;
  readonly changing: Changing;
  readonly references: References;
  readonly questionBound: QuestionBound;
  readonly now: () => number;
}

/** How often a thread is read again that others write meanwhile. */
export const readsTried = 3;

/** Brings the thread back to a checkpoint, once for all calls of one request. @returns its head after that. */
export async function restoreThread(
  { store, changing, references, questionBound, now }: RestoreParts,
  request: RestoreThreadRequest,
): Promise<Head> {
  const key = keyOf(request);
  for (let read = 0; read < readsTried; read++) {
    const head = await liveHead(store, key);
    const isFree = head.activeRun === undefined;
    const { checkpointId } = request;
    const change = isFree ? await restoringChange(store, { key, head, checkpointId, now: now() }) : undefined;
    await questionBound.refuseOpening(key.owner, change?.head);
    const outcome = await references.withStep(key, change?.messages ?? [], () =>
      changing.changeOnRequest({ key, method: 'restoreThread', request, toKept }, (snapshot) => {
        const now = writableHead(snapshot, key.threadId);
        refuseDropping(key, now);
        if (now.version !== head.version) return { reply: false };
        return { ...(change && { change: { ...change, head: restoredHead(now, change) } }), reply: true };
      }),
    );
    if ('kept' in outcome || outcome.made) return liveHead(store, key);
  }
  throw versionConflict(key.threadId);
}

/** What found another version is not kept: the same request is decided again. */
const toKept = (isMade: boolean): true | undefined => (isMade ? true : undefined);

interface Restoring {
  readonly key: ThreadKey;
  /** The thread as it is: the change is made only on this version of it. */
  readonly head: Head;
  readonly checkpointId: string;
  readonly now: number;
}

/**
 * The change that makes a thread again what it was at a checkpoint, as a new version. What it overwrites is its undo record, so that the versions
 * before it are read as before. Positions of the log are not used again: the runs that wrote there do not get the messages of later ones.
 * @returns `undefined` when the thread is at that checkpoint.
 * @throws NotFound when the checkpoint is not kept, Conflict when this is more than one change.
 */
export async function restoringChange(
  store: ThreadReads & ThreadHistory,
  { key, head, checkpointId, now }: Restoring,
): Promise<Change | undefined> {
  const { row, isBefore } = await placeOf(store, key, checkpointId);
  const { version } = row;
  if (version === head.version && !isBefore) return undefined;
  const overlay = await overlayOf(store, { key, version, isBefore });
  if (!overlay) throw absent(key, checkpointId);
  if (!overlay.mark) return undefined;
  const mark = withoutApproval(overlay.mark);
  const fields = await store.getFields(key);
  const { interruptedRun = '' } = mark;
  const asking = interruptedRun === '' ? undefined : await store.getRun(key.owner, interruptedRun);
  const hasDeadlines =
    asking?.threadId === key.threadId && asking.end?.interruptsJson?.includes('"deadline":') === true;
  const times = { version: head.version + 1, updatedAt: Math.max(head.updatedAt, now) };
  const after: Head = {
    ...marked(head, mark),
    ...(mark.addressed && { addressed: askedAnew(mark.addressed, times) }),
    nextPosition: head.nextPosition,
    ...times,
  };
  const rows = restored(overlay);
  const change: Change = {
    ...(hasDeadlines ? dropDeadlines(after, asking) : { head: after }),
    ...rows,
    deletedFrom: mark.nextPosition,
    checkpoint: {
      source: 'restore',
      nodes: [],
      next: after.next,
      at: after.updatedAt,
      metadata: toJson({ parent: { checkpoint_id: checkpointId } }),
      undo: encodeUndo({
        mark: markOf(head),
        fields: [...overlay.fields.keys()].map((name) => [
          name,
          Object.hasOwn(fields, name) ? fields[name] : undefined,
        ]),
        ...(await logBefore(store, key, { overlay, mark, head })),
        removed: [...overlay.places].flatMap(([position, { entry, inContext }]) =>
          entry || inContext ? [] : [position],
        ),
      }),
    },
  };
  const refusal = refusalOfChange(change, key);
  if (refusal !== undefined) throw tooFarBack(checkpointId, refusal);
  return change;
}

/** What the change overwrites, deletes and brings back of the log, as it was before. */
async function logBefore(
  store: ThreadReads,
  key: ThreadKey,
  { overlay, mark, head }: { readonly overlay: Overlay; readonly mark: Mark; readonly head: Head },
): Promise<Pick<Undo, 'entries' | 'absent'>> {
  const entries: PlacedEntry[] = [];
  const absent: number[] = [];
  let bytes = 0;
  const add = (entry: PlacedEntry): void => {
    entries.push(entry);
    bytes += entry.json.byteLength;
    if (bytes > sizes.undo)
      throw conflict(`the messages since then have ${bytesOver(bytes, sizes.undo)}: fork the checkpoint instead`);
    if (entries.length > sizes.stepMessages)
      throw conflict(`more than ${String(sizes.stepMessages)} messages differ since then: fork the checkpoint instead`);
  };
  // A message that leaves the context alone needs only its position, which is among those removed.
  const touched = [...overlay.places].flatMap(([position, place]) =>
    place.entry !== undefined || place.inContext || place.isAbsent ? [position] : [],
  );
  for (let at = 0; at < touched.length; at += placesAtOnce) {
    const some = touched.slice(at, at + placesAtOnce);
    const found = await store.getEntries(key, some);
    const known = new Set(found.map(({ position }) => position));
    found.forEach(add);
    absent.push(...some.filter((position) => !known.has(position)));
  }
  for await (const group of entriesBetween(store, key, mark.nextPosition, head.nextPosition)) group.forEach(add);
  return { entries, absent };
}

/** So few that they fit into memory, whatever their size. */
const placesAtOnce = 16;
