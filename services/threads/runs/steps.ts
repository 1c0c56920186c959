import { pageBytes } from '@agent-workflow/kit/pages';
import type { ListRunStepsRequest, RunStep, ClaimedRun } from '@agent-workflow/protos/threads';
import { toCheckpointId } from '../record/head.ts';
import { jsonArray, fromJson } from '../record/json.ts';
import { createOverlay, type Overlay } from '../history/overlay.ts';
import type { CheckpointRow, ThreadHistory } from '../ports/history.ts';
import type { Head, PlacedEntry, ThreadKey, LogEntry, RunRecord } from '../ports/record.ts';
import type { Undo } from '../history/undo.ts';
import { walkUndos } from '../history/undo-pages.ts';
import type { ThreadReads } from '../ports/reads.ts';
import type { StoredTexts } from '../record/stored-texts.ts';
import { createYielder, type Yielder } from '@agent-workflow/kit/yielder';
import type { Message } from '@agent-workflow/protos/message';
import { messageBytes } from '../record/row-sizes.ts';
import type { ThreadLists } from '../ports/lists.ts';

/** Steps of one reply, and bytes of their values: what is more comes with the next one. */
const stepsAtOnce = 32;
const checkpointsAtOnce = 200;
/** The most steps whose messages are read together: each may have added as much as a step may. */
const mostStepsRead = 4;

interface StepReads {
  readonly store: ThreadReads & ThreadHistory;
  readonly texts: Pick<StoredTexts, 'state'>;
}

type StepRange = Pick<ListRunStepsRequest, 'runId' | 'fromStep' | 'limit'>;

/** What the run's steps changed, as it was committed, without what cannot be read. `head` was read before. */
export async function listRunSteps(
  { store, texts }: StepReads,
  key: ThreadKey,
  range: StepRange,
  head: Head,
): Promise<readonly RunStep[]> {
  const steps: RunStep[] = [];
  for (const { messages, ...step } of await readSteps(store, key, range, head)) {
    const { fields, context } = await texts.state(key.threadId, { fields: step.fields, context: messages });
    steps.push({ ...step, fields, messagesJson: jsonArray(context) });
  }
  return steps;
}

/** A step with the messages that it put, as they are stored. */
interface StoredStep extends Omit<RunStep, 'messagesJson'> {
  readonly messages: readonly Uint8Array[];
}

async function readSteps(
  store: ThreadReads & ThreadHistory,
  key: ThreadKey,
  range: StepRange,
  head: Head,
): Promise<readonly StoredStep[]> {
  const { limit = stepsAtOnce } = range;
  const most = Math.max(1, Math.min(limit, stepsAtOnce));
  const rows = await stepRows(store, { key, ...range, most, below: head.version + 1 });
  const wanted = new Map(rows.map((row) => [row.version, row]));
  const [first] = rows;
  if (!first) return [];

  const version = first.version;
  const placesOf = new Map<number, ReadonlySet<number>>();
  await walkUndos(store, { key, version }, () => {
    let end = head.nextPosition;
    placesOf.clear();
    return (at, undo) => {
      if (wanted.has(at)) placesOf.set(at, new Set([...placesPut(undo, end), ...undo.removed]));
      end = undo.mark.nextPosition;
    };
  });
  // Rows first, undo records last: a change made in between has an undo record that corrects the rows.
  const now: Rows = { fields: await store.getFields(key), entries: new Map() };
  const read = await readEntries(store, { key, placesOf: rows.map((row) => placesOf.get(row.version)) }, now.entries);
  for (const row of rows.slice(read)) wanted.delete(row.version);
  let steps: StoredStep[] = [];
  const isKept = await walkUndos(store, { key, version }, () => {
    const overlay = createOverlay();
    steps = [];
    return (at, undo) => {
      const row = wanted.get(at);
      if (row) steps.push(toStep(row, { undo, overlay, now, end: overlay.mark?.nextPosition ?? head.nextPosition }));
      overlay.apply(undo);
    };
  });
  return isKept ? withinBytes(steps.reverse()) : readSteps(store, key, range, head);
}

interface StepRows extends Omit<StepRange, 'limit'> {
  readonly key: ThreadKey;
  readonly most: number;
  /** They are below this version. */
  readonly below: number;
}

/** The checkpoints of the run's steps, oldest first, at most so many of them. */
export async function stepRows(
  store: Pick<ThreadHistory, 'listCheckpoints'>,
  { key, runId, fromStep, most, below }: StepRows,
): Promise<readonly CheckpointRow[]> {
  let found: CheckpointRow[] = [];
  for (let next = below; ;) {
    const rows = await store.listCheckpoints(key, { limit: checkpointsAtOnce, below: next });
    const steps = rows.filter((row) => row.source === 'step' && row.runId === runId && (row.step ?? -1) >= fromStep);
    found = [...found, ...steps].slice(-most);
    const last = rows.at(-1);
    // The versions of a run are contiguous, so the first one before `fromStep` ends the search.
    const isOver = rows.some((row) => row.runId === runId && !steps.includes(row));
    if (!last || rows.length < checkpointsAtOnce || isOver || (found.length > 0 && last.runId !== runId)) break;
    next = last.version;
  }
  return found.reverse();
}

interface Rows {
  readonly fields: Readonly<Record<string, Uint8Array>>;
  readonly entries: Map<number, PlacedEntry>;
}

interface Places {
  readonly key: ThreadKey;
  /** Of each step, oldest first. */
  readonly placesOf: readonly (ReadonlySet<number> | undefined)[];
}

/** Reads what the steps added and removed, until a reply is full. The number of steps per read grows while they are small. */
async function readEntries(
  store: ThreadReads,
  { key, placesOf }: Places,
  entries: Map<number, PlacedEntry>,
): Promise<number> {
  let bytes = 0;
  let read = 0;
  for (
    let count = 1;
    read < placesOf.length && bytes <= pageBytes;
    read += count, count = Math.min(count * 2, mostStepsRead)
  ) {
    const positions = new Set(placesOf.slice(read, read + count).flatMap((places) => [...(places ?? [])]));
    for (const entry of await store.getEntries(
      key,
      [...positions].filter((position) => !entries.has(position)),
    )) {
      entries.set(entry.position, entry);
      bytes += entry.json.byteLength;
    }
  }
  return read;
}

interface Moment {
  readonly undo: Undo;
  /** Of the versions above. */
  readonly overlay: Overlay;
  readonly now: Rows;
  /** Where the log ended. */
  readonly end: number;
}

function toStep({ version, step = 0, nodes, next, at, work }: CheckpointRow, moment: Moment): StoredStep {
  const { undo, end } = moment;
  const put = placesPut(undo, end).flatMap((position) => placeAt(position, moment) ?? []);
  const left = new Set(undo.removed);
  return {
    step,
    nodes,
    at,
    fields: Object.fromEntries(
      undo.fields.flatMap(([name]) => {
        const json = fieldAt(name, moment);
        return json ? [[name, json] as const] : [];
      }),
    ),
    messages: put.map(({ json }) => json),
    removedFromContext: [...left].flatMap((position) => placeAt(position, moment)?.messageId ?? []),
    checkpointId: toCheckpointId(version),
    next,
    ...(work && { work }),
  };
}

/** Positions of the messages that the change put, in the order given. */
function placesPut({ mark, order }: Undo, end: number): readonly number[] {
  return order ?? Array.from({ length: Math.max(0, end - mark.nextPosition) }, (_, index) => mark.nextPosition + index);
}

const placeAt = (position: number, { overlay, now }: Moment): { messageId: string; json: Uint8Array } | undefined =>
  overlay.places.get(position)?.entry ?? now.entries.get(position);

const fieldAt = (name: string, { overlay, now }: Moment): Uint8Array | undefined => {
  if (overlay.fields.has(name)) return overlay.fields.get(name);
  return Object.hasOwn(now.fields, name) ? now.fields[name] : undefined;
};

function withinBytes(steps: readonly StoredStep[]): readonly StoredStep[] {
  let bytes = 0;
  const end = steps.findIndex(({ fields, messages }, index) => {
    bytes += [...messages, ...Object.values(fields)].reduce((sum, json) => sum + json.byteLength, 0);
    return index > 0 && bytes > pageBytes;
  });
  return end === -1 ? steps : steps.slice(0, end);
}

type Output = Pick<ClaimedRun, 'outputJson' | 'outputIsPartial' | 'outputReplyJson'>;

/** Log positions in the first read, and in any read; the log is read from its end. */
const firstPositions = 4;
const mostPositions = 256;

/** The newest messages of those that the run's steps have added, as many as a page holds, in order. */
export async function newestOutput(
  store: ThreadReads & ThreadLists,
  key: ThreadKey,
  run: Pick<RunRecord, 'outputFrom' | 'outputTo'>,
  signal: AbortSignal,
): Promise<Output> {
  const from = run.outputFrom;
  const to = run.outputTo ?? (await store.getHead(key))?.nextPosition ?? 0;
  if (from === undefined) return { outputJson: jsonArray([]) };
  const yielder = createYielder({ signal });
  const newest: Uint8Array[] = [];
  let left = pageBytes;
  let hasReply = false;
  for await (const entry of backwards(store, key, { from, to })) {
    if (yielder.isDue()) await yielder.yield();
    if (left < messageBytes(entry)) {
      const reply = hasReply ? undefined : await lastReply(store, key, { from, to: entry.position + 1 }, yielder);
      return { ...outputOf(newest), outputIsPartial: true, ...(reply && { outputReplyJson: reply }) };
    }
    left -= messageBytes(entry);
    newest.push(entry.json);
    hasReply ||= isReply(entry);
  }
  return outputOf(newest);
}

const outputOf = (newest: readonly Uint8Array[]): Output => ({ outputJson: jsonArray(newest.toReversed()) });

const isReply = ({ json }: LogEntry): boolean => (fromJson(json) as Message).role === 'assistant';

interface Range {
  readonly from: number;
  /** Behind the last. */
  readonly to: number;
}

async function lastReply(
  store: ThreadLists,
  key: ThreadKey,
  range: Range,
  yielder: Yielder,
): Promise<Uint8Array | undefined> {
  for await (const entry of backwards(store, key, range)) {
    if (yielder.isDue()) await yielder.yield();
    if (isReply(entry)) return entry.json;
  }
  return undefined;
}

/** The messages of a part of the log, the newest first; large messages are read few at a time. */
async function* backwards(store: ThreadLists, key: ThreadKey, { from, to }: Range): AsyncGenerator<LogEntry> {
  let count = firstPositions;
  for (let below = to; below > from;) {
    const first = Math.max(from, below - count);
    const entries = await store.listMessages(key, { limit: count, after: first - 1, below });
    yield* entries.toReversed();
    below = first;
    const bytes = entries.reduce((sum, entry) => sum + messageBytes(entry), 0);
    count = bytes * 4 > pageBytes ? firstPositions : Math.min(count * 2, mostPositions);
  }
}
