import { sizes } from '@agent-workflow/kit/sizes';
import type { ContextPage } from '../../../ports/reads.ts';
import type { LogEntry, ThreadKey } from '../../../ports/record.ts';
import type { Row, Session, Statement } from '../client/client.ts';
import { isGone, long, positionOf, toEntry, type Layout } from './rows.ts';
import { kinds } from './schema.ts';
import { bridged, takeNewest, within, type Range, type Ranges } from './ranges.ts';

/** A log as a head described it. */
export interface Log {
  readonly key: ThreadKey;
  readonly layout: Layout;
  /** Called with the rows of each read of the thread's partition. */
  readonly saw?: (rows: readonly Row[]) => void;
}

/** A part of a log, and the direction in which it is read. */
interface Part {
  readonly range: Range;
  readonly newestFirst?: boolean;
}

/**
 * The entries of a part, a page at a time. Ascending, segments are read before the thread's partition: if the layout is unchanged
 * afterwards, every entry was read.
 */
export async function* readEntries(session: Session, log: Log, part: Part): AsyncGenerator<readonly LogEntry[]> {
  for (const stretch of stretchesIn(log.layout, part)) {
    for await (const rows of readStretch(session, log, stretch, part.newestFirst ? wholeNewestFirst : whole)) {
      yield rows.filter((row) => !isGone(row)).map(toEntry);
    }
  }
}

/** The position of the entry that has `count` others before it in the part; `undefined` when there are no more. */
export async function skip(
  session: Session,
  log: Log,
  { count, ...part }: Part & { readonly count: number },
): Promise<number | undefined> {
  let left = count;
  for (const stretch of stretchesIn(log.layout, part)) {
    for await (const rows of readStretch(session, log, stretch, part.newestFirst ? placesNewestFirst : placesOnly)) {
      const there = rows.filter((row) => !isGone(row));
      const found = there[left];
      if (found) return positionOf(found);
      left -= there.length;
    }
  }
  return undefined;
}

/** Every entry at a position of the ranges, ascending. */
export async function readRanges(session: Session, log: Log, ranges: Ranges): Promise<readonly LogEntry[]> {
  const stretches = bridged(ranges, bridge).flatMap((range) => stretchesOf(log.layout, range));
  const parts = await mapConcurrently(stretches, async (stretch) => {
    const entries: LogEntry[] = [];
    for await (const rows of readStretch(session, log, stretch, whole)) {
      for (const row of rows) if (!isGone(row) && within(ranges, positionOf(row))) entries.push(toEntry(row));
    }
    return entries;
  });
  return parts.flat();
}

/** Positions in the first read, when message sizes are unknown, and in any read. */
const firstRead = 16;
const maxRead = 1024;

/** The newest entries at positions of the ranges that fit, but at least one: few others are read. */
export async function readNewest(session: Session, log: Log, ranges: Ranges, maxBytes: number): Promise<ContextPage> {
  const newestFirst: LogEntry[] = [];
  let bytes = 0;
  let count = Math.max(1, Math.min(firstRead, Math.floor(maxBytes / sizes.message)));
  for (let left = ranges; left.length > 0;) {
    const { newest, rest } = takeNewest(left, count);
    const read = await readAt(session, log, newest);
    for (const entry of read.toReversed()) {
      bytes += entry.json.byteLength + 1;
      const last = newestFirst.at(-1);
      if (bytes > maxBytes && last) return { entries: newestFirst.reverse(), bottom: last.position };
      newestFirst.push(entry);
    }
    left = rest;
    const largest = Math.max(1, ...read.map(({ json }) => json.byteLength));
    const fitting = Math.floor(Math.min(4 * pageBytes, Math.max(0, maxBytes - bytes)) / largest);
    // Those before may be as large as the largest of the log, however small these are.
    count = Math.min(maxRead, count * 4, fitting + 1, Math.max(firstRead, rowsAtOnce(log.layout)));
  }
  return { entries: newestFirst.reverse(), bottom: 0 };
}

/** Gaps of up to so many positions are read although nothing in them is needed, which costs less than another read. */
const bridge = 16;

/** The entries at these positions; positions without an entry are left out. */
export async function readAt(session: Session, log: Log, positions: readonly number[]): Promise<readonly LogEntry[]> {
  const { key, layout } = log;
  const found = new Map<number, Row>();
  const rolled = positions.filter((position) => position < layout.rolledTo);
  const bySegment = Map.groupBy(rolled, (position) => Math.floor(position / layout.width));
  await mapConcurrently([...bySegment], async ([segment, within]) => {
    for (const some of chunksOf(within)) {
      const params = [key.owner, key.threadId, layout.life, long(segment), some.map(long)];
      for (const row of await session.read({ cql: selectSegmentAt, params })) found.set(positionOf(row), row);
    }
  });
  await mapConcurrently(chunksOf(positions), async (some) => {
    const rows = await session.read({ cql: selectLogAt, params: [key.owner, key.threadId, some.map(long)] });
    log.saw?.(rows);
    for (const row of rows) found.set(positionOf(row), row);
  });
  const there = [...found.values()].filter((row) => !isGone(row));
  return there.map(toEntry).toSorted((a, b) => a.position - b.position);
}

/** Whether both layouts have the same rows in the same tables. */
export const isPlacedAlike = (a: Layout, b: Layout | undefined): boolean =>
  a.life === b?.life && a.rolledTo === b.rolledTo;

/** Whether, too, no entry was changed between the two. */
export const isUntouched = (a: Layout, b: Layout | undefined): boolean => isPlacedAlike(a, b) && a.edits === b?.edits;

/** A part of the log in one table: in a segment, with the rows of the thread's partition that cover it, or in that partition. */
interface Stretch {
  readonly segment?: number;
  readonly range: Range;
}

function stretchesIn(layout: Layout, { range, newestFirst }: Part): readonly Stretch[] {
  const stretches = stretchesOf(layout, range);
  return newestFirst ? stretches.toReversed() : stretches;
}

function stretchesOf(layout: Layout, [first, last]: Range): readonly Stretch[] {
  const { rolledTo, width, top, hasOverlays } = layout;
  // A segment and the rows that cover it are merged in memory, so such a stretch is shorter.
  const longest = hasOverlays ? rowsAtOnce(layout) : width;
  const end = Math.min(last, top - 1);
  const stretches: Stretch[] = [];
  for (let at = Math.max(first, 0); at <= Math.min(end, rolledTo - 1);) {
    const segment = Math.floor(at / width);
    const lastOf = Math.min((segment + 1) * width, rolledTo, at + longest) - 1;
    stretches.push({ segment, range: [at, Math.min(lastOf, end)] });
    at = lastOf + 1;
  }
  if (end >= rolledTo) stretches.push({ range: [Math.max(first, rolledTo), end] });
  return stretches;
}

/** The statements that read a stretch. */
interface Select {
  readonly log: string;
  readonly segment: string;
  readonly newestFirst?: true;
}

const ofThread = 'owner = ? AND thread_id = ?';
const selectLog = (columns: string): string =>
  `SELECT ${columns} FROM thread WHERE ${ofThread} AND kind = ${kinds.log} AND n >= ? AND n <= ?`;
const selectSegment = (columns: string): string =>
  `SELECT ${columns} FROM segment WHERE ${ofThread} AND life = ? AND segment = ? AND position >= ? AND position <= ?`;

const whole: Select = {
  log: selectLog('at, n, message_id, json, version'),
  segment: selectSegment('position, message_id, json, version'),
};
const placesOnly: Select = { log: selectLog('at, n, message_id'), segment: selectSegment('position, message_id') };

const descending = ({ log, segment }: Select): Select => ({
  log: `${log} ORDER BY kind DESC, n DESC`,
  segment: `${segment} ORDER BY position DESC`,
  newestFirst: true,
});
const [wholeNewestFirst, placesNewestFirst] = [descending(whole), descending(placesOnly)];

const selectLogAt = `SELECT at, n, message_id, json, version FROM thread WHERE ${ofThread} AND kind = ${kinds.log} AND n IN ? AND id = ''`;
const selectSegmentAt = `SELECT position, message_id, json, version FROM segment
  WHERE ${ofThread} AND life = ? AND segment = ? AND position IN ?`;

async function* readStretch(
  session: Session,
  { key: { owner, threadId }, layout, saw }: Log,
  { segment, range: [first, last] }: Stretch,
  select: Select,
): AsyncGenerator<readonly Row[]> {
  const inLog = { cql: select.log, params: [owner, threadId, long(first), long(last)] };
  if (segment === undefined) {
    yield* pagesOf(session, inLog, { saw });
    return;
  }
  const params = [owner, threadId, layout.life, long(segment), long(first), long(last)];
  const pages = pagesOf(session, { cql: select.segment, params }, { most: rowsAtOnce(layout) });
  if (!layout.hasOverlays) {
    yield* pages;
    return;
  }
  const rows: Row[] = [];
  for await (const page of pages) rows.push(...page);
  const over: Row[] = [];
  for await (const page of pagesOf(session, inLog, { saw })) over.push(...page);
  const merged = covered(rows, over);
  yield select.newestFirst ? merged.toReversed() : merged;
}

/** What one read of a log may take in memory, in bytes. */
const readBytes = 16 * 1024 * 1024;

/** The rows of a log read at once: if all were as large as its largest, they would take {@link readBytes}. */
const rowsAtOnce = ({ largest }: Layout): number =>
  Math.min(maxPage, Math.max(1, Math.floor(readBytes / Math.max(largest, 1))));

/** Rows of a segment, with those of the thread's partition in the place of what they cover. */
function covered(rows: readonly Row[], over: readonly Row[]): readonly Row[] {
  const places = new Map([...rows, ...over].map((row) => [positionOf(row), row]));
  return [...places.values()].toSorted((a, b) => positionOf(a) - positionOf(b));
}

const firstPage = 64;
const maxPage = 2000;
const pageBytes = 1024 * 1024;

interface PagesOptions {
  /** Called with every page. */
  readonly saw?: ((rows: readonly Row[]) => void) | undefined;
  /** Rows of a page at most: fewer where rows may be large. */
  readonly most?: number;
  /** Rows of the first page, of whose size nothing is known. */
  readonly first?: number;
}

/** All pages of a statement, each of about {@link pageBytes}: the size of a page follows from the rows before it. */
export async function* pagesOf(
  session: Session,
  statement: Statement,
  { saw, most = maxPage, first = firstPage }: PagesOptions = {},
): AsyncGenerator<readonly Row[]> {
  let size = Math.min(first, most);
  for (let from: string | undefined; ;) {
    const { rows, next } = await session.readPage(statement, { rows: size, from });
    saw?.(rows);
    yield rows;
    if (next === undefined) return;
    from = next;
    const bytes = rows.reduce((sum, row) => sum + bytesOfRow(row), 0);
    size = Math.max(1, Math.min(most, Math.floor((pageBytes * rows.length) / Math.max(bytes, 1))));
  }
}

const rowBytes = 64;
const bytesOfRow = (row: Row): number =>
  largeColumns.reduce((sum, column) => sum + ((row[column] as Buffer | null | undefined)?.length ?? 0), rowBytes);

const largeColumns = ['json', 'undo', 'metadata', 'trace', 'trace_content'];

/** Keys in one statement at most. */
const keysOfStatement = 100;

export const chunksOf = <T>(items: readonly T[], size = keysOfStatement): T[][] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, index) => items.slice(index * size, (index + 1) * size));

/** Requests under way for one call at most. */
const atOnce = 8;

/** What `work` makes of each item, in their order, some at a time. */
export async function mapConcurrently<T, R>(
  items: readonly T[],
  work: (item: T) => Promise<R>,
  most = atOnce,
): Promise<R[]> {
  const results = new Array<R>(items.length);
  const waiting = items.entries();
  const lane = async (): Promise<void> => {
    for (const [index, item] of waiting) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(most, items.length) }, lane));
  return results;
}
