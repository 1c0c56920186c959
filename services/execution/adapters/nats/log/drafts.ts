import type { RunEvent } from '@agent-workflow/protos/execution';
import { isTerminal } from '../../../ports/port.ts';
import { toBody, toEvents, type Frame, type StoredFrame } from './frame.ts';

/** One append that waits to be written. */
export interface Entry {
  readonly after: number;
  readonly events: readonly RunEvent[];
  readonly bytes: number;
  /** Settles the append, once. */
  readonly done: (error?: Error) => void;
}

/** A frame that waits to be written, and the appends that it completes. */
export interface Draft extends Pick<Frame, 'first' | 'last' | 'part' | 'parts' | 'ended' | 'body'> {
  readonly events: readonly RunEvent[];
  readonly entries: readonly Entry[];
}

export const lastOf = ({ after, events }: Entry): number => events.at(-1)?.seq ?? after;

export const endsRun = ({ events }: Entry): boolean => {
  const end = events.at(-1);
  return end !== undefined && isTerminal(end);
};

/** Takes the appends that follow one another without a gap, at most up to a frame's weight or the run's end. */
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

/** The frames that hold the appends' events, in order. An event too heavy for one is spread over several. */
export function toDrafts(batch: readonly Entry[], maxBytes: number): readonly Draft[] {
  const drafts: Draft[] = [];
  let events: RunEvent[] = [];
  let entries: Entry[] = [];
  let bytes = 0;
  const close = (): void => {
    if (events.length > 0) drafts.push(wholeDraft(events, entries));
    events = [];
    entries = [];
    bytes = 0;
  };
  for (const entry of batch) {
    for (const event of entry.events) {
      const weight = event.json.byteLength + 1;
      if (bytes + weight > maxBytes) close();
      if (weight > maxBytes) {
        drafts.push(...partDrafts(event, maxBytes));
        continue;
      }
      events.push(event);
      bytes += weight;
    }
    if (events.length > 0) entries.push(entry);
    else completeWith(drafts, entry);
  }
  close();
  return drafts;
}

function wholeDraft(events: readonly RunEvent[], entries: readonly Entry[]): Draft {
  const end = events.at(-1);
  const last = end?.seq ?? 0;
  const ended = end !== undefined && isTerminal(end);
  return { first: events[0]?.seq ?? 0, last, part: 1, parts: 1, ended, body: toBody(events), events, entries };
}

function partDrafts(event: RunEvent, maxBytes: number): Draft[] {
  const { seq, json } = event;
  const parts = Math.ceil(json.byteLength / maxBytes);
  return Array.from({ length: parts }, (_, index) => ({
    first: seq,
    last: seq,
    part: index + 1,
    parts,
    ended: isTerminal(event),
    body: json.subarray(index * maxBytes, (index + 1) * maxBytes),
    events: [event],
    entries: [],
  }));
}

/** The append's last event stands in the last draft already; one without events is done where nothing is to be written. */
function completeWith(drafts: Draft[], entry: Entry): void {
  const draft = drafts.pop();
  if (draft) drafts.push({ ...draft, entries: [...draft.entries, entry] });
  else entry.done();
}

/** A frame that was stored once, to be written again. */
export const fromStored = ({ first, last, part, parts, ended, body, ...frame }: StoredFrame): Draft => ({
  first,
  last,
  part,
  parts,
  ended,
  body,
  events: toEvents({ first, body, ...frame }),
  entries: [],
});

/** Drafts of whole events that follow one another, as one; `undefined` where they weigh more than a frame may. */
export function joinDrafts(drafts: readonly Draft[], maxBytes: number): Draft | undefined {
  const [first] = drafts;
  const last = drafts.at(-1);
  const bytes = drafts.reduce((sum, { body }) => sum + body.byteLength, 0);
  if (!first || !last || bytes > maxBytes || drafts.some(({ parts }) => parts > 1)) return undefined;
  return {
    ...last,
    first: first.first,
    body: Buffer.concat(drafts.map(({ body }) => body)),
    events: drafts.flatMap(({ events }) => events),
    entries: drafts.flatMap(({ entries }) => entries),
  };
}
