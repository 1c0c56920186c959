import { bytesOfEvent } from '@agent-workflow/protos/event-parts';
import type { RunEvent } from '@agent-workflow/protos/execution';
import { packEvents, type EventBatch } from '@agent-workflow/protos/event-pack';
import { isTerminal } from '../../../ports/log.ts';
import { toBatch, type Frame, type StoredFrame } from './frame.ts';

/** One append that waits to be written. */
export interface Entry extends EventBatch {
  readonly after: number;
  readonly bytes: number;
  /** Until when it may wait for what follows, by `performance.now()`. Absent: not at all. */
  readonly mayWaitUntil?: number;
  /** Settles the append; later calls do nothing. */
  readonly done: (error?: Error) => void;
}

/** A frame that waits to be written, and the appends that it completes. */
export interface Draft extends Pick<Frame, 'first' | 'last' | 'slice' | 'slices' | 'ended' | 'body'> {
  readonly batch: EventBatch;
  readonly entries: readonly Entry[];
}

const delayableKinds: ReadonlySet<string> = new Set(['metadata', 'on_chain_start', 'on_chain_stream']);

/** Whether these events say only how far a run is: then they may wait for what follows. */
export const mayBeDelayed = (events: readonly RunEvent[]): boolean =>
  events.every(({ kind }) => delayableKinds.has(kind));

export const lastOf = ({ after, events }: Entry): number => events.at(-1)?.seq ?? after;

export const endsRun = ({ events }: Pick<Entry, 'events'>): boolean => {
  const end = events.at(-1);
  return end !== undefined && isTerminal(end);
};

/** Removes the appends from the list that follow one another without a gap, up to the size of a frame or the end of the run. */
export function takeBatch(entries: Entry[], maxBytes: number): readonly Entry[] {
  let bytes = 0;
  let count = 0;
  for (const [index, entry] of entries.entries()) {
    const before = entries[index - 1];
    if (before && (lastOf(before) !== entry.after || endsRun(before) || bytes + entry.bytes > maxBytes)) break;
    bytes += entry.bytes;
    count++;
  }
  return entries.splice(0, count);
}

/**
 * The frames of the appends' events, in order. An event that is too large for one frame is divided into several. What all events
 * of a frame share is not counted in `maxBytes`.
 */
export function toDrafts(batch: readonly Entry[], maxBytes: number): readonly Draft[] {
  const [{ scope } = noEntry] = batch;
  const drafts: Draft[] = [];
  let events: RunEvent[] = [];
  let entries: Entry[] = [];
  let bytes = 0;
  const close = (): void => {
    if (events.length > 0) drafts.push(wholeDraft({ scope, events }, entries));
    events = [];
    entries = [];
    bytes = 0;
  };
  for (const entry of batch) {
    for (const event of entry.events) {
      const size = bytesOfEvent(event);
      if (bytes + size > maxBytes) close();
      if (size > maxBytes) {
        drafts.push(...sliceDrafts({ scope, events: [event] }, maxBytes));
        continue;
      }
      events.push(event);
      bytes += size;
    }
    if (events.length > 0) entries.push(entry);
    else completeWith(drafts, entry);
  }
  close();
  return drafts;
}

const noEntry = { scope: { runId: '', threadId: '', requestId: '', isNewThread: false } };

function wholeDraft(batch: EventBatch, entries: readonly Entry[]): Draft {
  const { events } = batch;
  const [first, last] = [events[0]?.seq ?? 0, events.at(-1)?.seq ?? 0];
  return {
    ...{ first, last, slice: 1, slices: 1, ended: endsRun(batch) },
    ...{ body: packEvents(batch), batch, entries },
  };
}

/** One event, with a frame for each slice of its bytes. */
function sliceDrafts(batch: EventBatch, maxBytes: number): Draft[] {
  const [first] = batch.events;
  if (!first) return [];
  const { seq } = first;
  const body = packEvents(batch);
  const slices = Math.ceil(body.byteLength / maxBytes);
  return Array.from({ length: slices }, (_, index) => ({
    ...{ first: seq, last: seq, slice: index + 1, slices, ended: isTerminal(first) },
    ...{ body: body.subarray(index * maxBytes, (index + 1) * maxBytes), batch, entries: [] },
  }));
}

/** Attaches the append to the last draft, which holds its last event. An append without events and without a draft is done. */
function completeWith(drafts: Draft[], entry: Entry): void {
  const draft = drafts.pop();
  if (draft) drafts.push({ ...draft, entries: [...draft.entries, entry] });
  else entry.done();
}

/** A stored frame, to be written again; `undefined` when it holds no events. */
export function fromStored(frame: StoredFrame): Draft | undefined {
  const { first, last, slice, slices, ended, body } = frame;
  const batch = toBatch(frame);
  return batch && { first, last, slice, slices, ended, body, batch, entries: [] };
}

/** Joins drafts of whole events that follow one another; `undefined` when the result is larger than a frame. */
export function joinDrafts(drafts: readonly Draft[], maxBytes: number): Draft | undefined {
  const [first] = drafts;
  const last = drafts.at(-1);
  if (!first || !last || drafts.some(({ slices }) => slices > 1)) return undefined;
  const batch = { ...last.batch, events: drafts.flatMap((draft) => draft.batch.events) };
  const body = packEvents(batch);
  if (body.byteLength > maxBytes) return undefined;
  return { ...last, first: first.first, body, batch, entries: drafts.flatMap(({ entries }) => entries) };
}
