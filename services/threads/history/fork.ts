import { conflict, notFound, unavailable } from '@agent-workflow/kit/errors';
import { backoffMs, pause, type Backoff } from '@agent-workflow/kit/retry';
import { bytesOver, sizes } from '@agent-workflow/kit/sizes';
import type { Call } from '@agent-workflow/protos/call';
import type { ForkThreadRequest } from '@agent-workflow/protos/threads';
import { withoutDeadlines } from '@agent-workflow/protos/progress';
import { withoutApproval } from './approved.ts';
import { absent, checkpointOf } from './checkpoints.ts';
import { fromJson, toJson } from '../record/json.ts';
import { createOverlay, fieldsUnder, type Overlay, type Place } from './overlay.ts';
import { overlayOf } from './past.ts';
import type { Change, ThreadChanges } from '../ports/changes.ts';
import type { CheckpointRow, ThreadHistory } from '../ports/history.ts';
import type { Head, PlacedEntry, ThreadKey } from '../ports/record.ts';
import { agentOf, newHead, toCheckpointId } from '../record/head.ts';
import { emptySize } from '../record/size.ts';
import { askedAnew } from '../record/addressed.ts';
import { isTitle } from '../record/title.ts';
import { marked, restored } from './restore.ts';
import { encodeUndo, markOf } from './undo.ts';
import type { ThreadReads } from '../ports/reads.ts';
import type { ThreadSweeps } from '../ports/sweeps.ts';

/** The ports that making a fork takes. */
export type ForkStore = ThreadChanges & ThreadReads & ThreadHistory & ThreadSweeps;

interface Forks {
  /**
   * The head of the fork: made, or found as the same request has made it.
   * @throws Unavailable when it is still being made elsewhere after {@link elsewhereMs}, or at the deadline.
   */
  readonly make: (request: ForkThreadRequest, call: Call) => Promise<Head>;
}

/** What one change copies at most: entries, and bytes unless one entry alone is larger. */
const entriesAtOnce = 500;
const bytesAtOnce = 1024 * 1024;

/** How long the making of a fork may take before its rows count as abandoned, in milliseconds. */
const makingMs = 60_000;

/** How long a fork that another replica is making is waited for, in milliseconds: a call is made again where a replica is slow. */
const elsewhereMs = 5000;

/** How often its head is read meanwhile. */
const polling: Backoff = { firstMs: 50, maxMs: 500 };

interface ForkOptions {
  readonly now: () => number;
  /** How many bytes of messages a fork holds at most. */
  readonly maxBytes?: number;
  /** Refuses a fork that would open more questions to others than its owner may have. */
  readonly refuseOpening?: (owner: string, head: Head) => Promise<void>;
}

/** Forks threads; two requests for the same fork at once are one here. */
export function createForks(
  store: ForkStore,
  { now, maxBytes = sizes.forkedMessages, refuseOpening = nothingRefused }: ForkOptions,
): Forks {
  const making = new Map<string, Promise<Head | undefined>>();
  const makeShared = async (request: ForkThreadRequest): Promise<Head | undefined> => {
    const { owner, newThreadId, threadId, checkpointId, threadName } = request;
    const name = JSON.stringify([owner, newThreadId, threadId, checkpointId, threadName]);
    const known = making.get(name);
    if (known) return known;
    const made = makeFork(store, request, { now, maxBytes, refuseOpening }).finally(() => making.delete(name));
    making.set(name, made);
    return made;
  };
  return {
    make: async (request, { deadline, signal }) => {
      const until = Math.min(deadline, Date.now() + elsewhereMs);
      for (let attempt = 1; ; attempt++) {
        const made = await makeShared(request);
        if (made) return made;
        const ms = backoffMs(polling, attempt);
        if (Date.now() + ms > until) throw unavailable(`thread "${request.newThreadId}" is being made`);
        await pause(ms, signal);
      }
    },
  };
}

const nothingRefused = (): Promise<void> => Promise.resolve();

/** The threads marked deleting without the forks that are being made. */
export async function withoutFork(
  store: ThreadReads,
  keys: readonly ThreadKey[],
  now: number,
): Promise<readonly ThreadKey[]> {
  const heads = await Promise.all(keys.map(async (key) => store.getHead(key)));
  return keys.filter((_, index) => {
    const head = heads[index];
    return !head || !isInTheMaking(head, now);
  });
}

/** A deletion raises the epoch of its thread; a fork that is being made has epoch 0. */
const isInTheMaking = ({ deleting, epoch, createdAt }: Head, now: number): boolean =>
  deleting && epoch === 0 && now - createdAt < makingMs;

/** Gives nothing while another replica makes the fork. */
async function makeFork(
  store: ForkStore,
  request: ForkThreadRequest,
  { now, maxBytes, refuseOpening }: Required<ForkOptions>,
): Promise<Head | undefined> {
  const { owner } = request;
  const from = { owner, threadId: request.threadId };
  const to = { owner, threadId: request.newThreadId };
  const known = await store.getHead(to);
  if (known && !known.deleting) return knownFork(store, request, known);
  if (known && isInTheMaking(known, now())) return undefined;
  if (known) await store.purge(to);

  const source = await store.getHead(from);
  if (!source) throw notFound(`thread "${from.threadId}" does not exist`);
  const version = await versionToFork(store, from, source, request);
  const copy = await beginCopy(store, to, forkHead(request, source, now()), now);
  if (!copy) return undefined;
  try {
    return await copyThread(store, { from, version, source, copy, maxBytes, refuseOpening });
  } catch (error) {
    await discard(store, to, copy.head());
    throw error;
  }
}

/** The version that the fork begins at. The present one can be forked without its checkpoint, which goes by age. */
async function versionToFork(
  store: ThreadHistory,
  from: ThreadKey,
  { version }: Head,
  { checkpointId = toCheckpointId(version) }: ForkThreadRequest,
): Promise<number> {
  return checkpointId === toCheckpointId(version) ? version : (await checkpointOf(store, from, checkpointId)).version;
}

const forkHead = ({ threadName, metadataJson }: ForkThreadRequest, source: Head, now: number): Head => {
  const name = threadName ?? source.name;
  const metadata = metadataJson ?? source.metadata;
  // The last change of the copy sets the size.
  const head = newHead(
    {
      ...(name === undefined ? {} : { threadName: name }),
      ...(metadata === undefined ? {} : { metadataJson: metadata }),
    },
    now,
  );
  const agent = agentOf(source);
  return { ...head, ...(agent !== undefined && { agent }), deleting: true };
};

/** The metadata of a fork's checkpoint: the thread and checkpoint that it was made from. */
interface Origin {
  readonly forked_from: { readonly thread_id: string; readonly checkpoint_id: string };
}

/** @throws Conflict when the thread was made by anything but this request. */
async function knownFork(store: ThreadHistory, request: ForkThreadRequest, head: Head): Promise<Head> {
  const { owner, newThreadId: threadId, threadName, checkpointId } = request;
  const made = await oldestCheckpoint(store, { owner, threadId });
  const origin = made?.source === 'fork' && made.metadata ? (fromJson(made.metadata) as Origin).forked_from : undefined;
  const isSame =
    origin?.thread_id === request.threadId &&
    (checkpointId === undefined || checkpointId === origin.checkpoint_id) &&
    (threadName === undefined || threadName === head.name);
  if (!isSame) throw conflict(`thread "${threadId}" exists already`);
  return head;
}

async function oldestCheckpoint(store: ThreadHistory, key: ThreadKey): Promise<CheckpointRow | undefined> {
  let oldest: CheckpointRow | undefined;
  for (;;) {
    const rows = await store.listCheckpoints(key, {
      limit: checkpointsAtOnce,
      ...(oldest && { below: oldest.version }),
    });
    oldest = rows.at(-1) ?? oldest;
    if (rows.length < checkpointsAtOnce) return oldest;
  }
}

const checkpointsAtOnce = 500;

/** A fork that is being made, change by change. Readers see it after the last. */
interface Copy {
  readonly head: () => Head;
  readonly write: (rows: Omit<Change, 'head'>, parts?: Partial<Head>) => Promise<void>;
}

/** Gives nothing when another replica has begun the fork. */
async function beginCopy(
  store: ThreadChanges,
  to: ThreadKey,
  first: Head,
  now: () => number,
): Promise<Copy | undefined> {
  let head = first;
  const isBegun = await store.change(to, {}, (snapshot) => {
    if (snapshot.head && isInTheMaking(snapshot.head, now())) return { reply: false };
    if (snapshot.head) throw conflict(`thread "${to.threadId}" exists already`);
    return { change: { head }, reply: true };
  });
  if (!isBegun) return undefined;
  return {
    head: () => head,
    write: async (rows, parts = {}) => {
      const before = head;
      const after: Head = { ...before, ...parts, version: before.version + 1 };
      await store.change(to, {}, ({ head: found }) => {
        const isOurs = found?.deleting && found.version === before.version && found.epoch === before.epoch;
        if (!isOurs) throw conflict(`thread "${to.threadId}" was removed while it was made`);
        return { change: { ...rows, head: after }, reply: undefined };
      });
      head = after;
    },
  };
}

interface Copying {
  readonly from: ThreadKey;
  readonly version: number;
  /** The head of the thread that is forked, read before its rows. */
  readonly source: Head;
  readonly copy: Copy;
  readonly maxBytes: number;
  readonly refuseOpening: Required<ForkOptions>['refuseOpening'];
}

async function copyThread(
  store: ThreadReads & ThreadHistory,
  { from, version, source, copy, maxBytes, refuseOpening }: Copying,
): Promise<Head> {
  const checkpointId = toCheckpointId(version);
  // Where the log ended at that version: nothing after it is read.
  const kept = await overlayOf(store, { key: from, version });
  const before = kept ?? (version === source.version ? createOverlay() : undefined);
  if (!before) throw absent(from, checkpointId);
  const end = before.mark?.nextPosition ?? source.nextPosition;
  const entitled = new Set<number>();
  let bytes = 0;
  for await (const entries of entriesBetween(store, from, 0, end)) {
    for (const entry of entries) if (isTitle(source, entry)) entitled.add(entry.position);
    bytes += entries.reduce((sum, { json }) => sum + json.byteLength, 0);
    if (bytes > maxBytes) throw conflict(`thread "${from.threadId}" has messages of ${bytesOver(bytes, maxBytes)}`);
    await copy.write(placed(entries));
  }

  const rows = await store.getFields(from);
  const isSame = async (): Promise<boolean> => (await store.getHead(from))?.version === source.version;
  // A checkpoint that is dropped while the thread is copied is not needed if nothing else has changed.
  const overlay = (await overlayOf(store, { key: from, version })) ?? ((await isSame()) ? before : undefined);
  if (!overlay) throw absent(from, checkpointId);
  const fields = fieldsUnder(rows, overlay);
  for (const part of inParts(overlay)) {
    await copy.write(restored(part));
  }
  const mark = withoutApproval(overlay.mark ?? markOf(source));
  const { progress, ...head } = marked(copy.head(), mark);
  await refuseOpening(from.owner, head);
  const at = head.createdAt;
  const checkpoint = {
    source: 'fork' as const,
    nodes: [],
    next: head.next,
    at,
    metadata: toJson({ forked_from: { thread_id: from.threadId, checkpoint_id: checkpointId } } satisfies Origin),
    undo: encodeUndo({ mark: emptyMark, fields: [], entries: [], removed: [] }),
  };
  const questions = head.addressed && { addressed: askedAnew(head.addressed, head) };
  const left = progress === undefined ? {} : { progress: withoutDeadlines(progress) };
  const title = titleUnder(overlay, source, entitled);
  await copy.write({ fields, checkpoint }, { ...head, ...left, ...title, ...questions, deleting: false });
  return copy.head();
}

/**
 * The title of the source, if the fork holds the message that gave it: a later message is none of the fork's.
 * @param entitled the positions of messages that give this title now, in the log that is forked
 */
function titleUnder({ places }: Overlay, source: Head, entitled: ReadonlySet<number>): Pick<Head, 'title'> {
  const { title } = source;
  if (title === undefined) return {};
  const isAsNow = (place: Place | undefined): boolean => !place?.entry && !place?.isAbsent;
  const stays = [...entitled].some((position) => isAsNow(places.get(position)));
  return stays || [...places.values()].some(({ entry }) => isTitle(source, entry)) ? { title } : {};
}

const emptyMark = { nextPosition: 0, openCalls: [], next: [], openInterrupts: [], size: emptySize };

const placed = (entries: readonly PlacedEntry[]): Pick<Change, 'messages' | 'removedFromContext'> => ({
  messages: entries.map(({ position, messageId, json }) => ({ position, messageId, json })),
  removedFromContext: entries.filter(({ inContext }) => !inContext).map(({ position }) => position),
});

/** The log from `begin` up to `end`, in groups that fit into one change. */
export async function* entriesBetween(
  store: ThreadReads,
  key: ThreadKey,
  begin: number,
  end: number,
): AsyncGenerator<readonly PlacedEntry[]> {
  let chunk: PlacedEntry[] = [];
  let bytes = 0;
  let step = firstRead;
  for (let position = begin; position < end;) {
    const positions = Array.from({ length: Math.min(step, end - position) }, (_, index) => position + index);
    const entries = await store.getEntries(key, positions);
    for (const entry of entries) {
      const isFull = chunk.length === entriesAtOnce || bytes + entry.json.byteLength > bytesAtOnce;
      if (isFull && chunk.length > 0) {
        yield chunk;
        chunk = [];
        bytes = 0;
      }
      chunk.push(entry);
      bytes += entry.json.byteLength;
    }
    position += positions.length;
    step = nextRead(entries, step);
  }
  if (chunk.length > 0) yield chunk;
}

/** Positions in the first read: few, because message sizes are unknown. */
const firstRead = 16;

function nextRead(entries: readonly PlacedEntry[], step: number): number {
  const largest = Math.max(1, ...entries.map(({ json }) => json.byteLength));
  return Math.max(1, Math.min(entriesAtOnce, step * 4, Math.floor((4 * bytesAtOnce) / largest)));
}

/** What is to be put right, in parts that fit into one change. What goes comes first: a message that is put may have the id of one that goes. */
function* inParts({ places }: Overlay): Generator<Overlay> {
  let part = new Map<number, Place>();
  let bytes = 0;
  const isAbsent = ([, place]: readonly [number, Place]): boolean => place.isAbsent === true;
  const all = [...places];
  for (const [position, place] of [...all.filter(isAbsent), ...all.filter((each) => !isAbsent(each))]) {
    part.set(position, place);
    bytes += place.entry?.json.byteLength ?? 0;
    if (part.size < entriesAtOnce && bytes < bytesAtOnce) continue;
    yield { mark: undefined, fields: new Map(), places: part };
    part = new Map();
    bytes = 0;
  }
  if (part.size > 0) yield { mark: undefined, fields: new Map(), places: part };
}

/** Removes the rows of a failed attempt, unless another has taken its place. A sweep removes what stays. */
async function discard(store: ThreadReads & ThreadSweeps, to: ThreadKey, { version }: Head): Promise<void> {
  try {
    const isOurs = (await store.getHead(to))?.version === version;
    if (isOurs) await store.purge(to);
  } catch {
    // The store is unavailable: a later sweep removes the rows, because the thread is marked deleting.
  }
}
