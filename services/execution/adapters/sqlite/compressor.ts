import { isServiceError } from '@agent-workflow/kit/errors';
import { packEvents } from '@agent-workflow/protos/event-pack';
import type { Sqlite } from '@agent-workflow/runtime/sqlite/sqlite';
import { deflate } from './deflate.ts';
import { putCompressed, rowColumns, toBatch, type EventRow } from './stored.ts';

/** Milliseconds from the end of a log until it is compressed. */
const usualDelayMs = 1000;
/** Milliseconds until a file that cannot be read or written is tried again. */
const pauseMs = 10_000;
/** The most rows that are compressed together, and their bytes, which a follower inflates together. */
const rowsAtOnce = 512;
const partBytes = 64 * 1024;
/** A longer row stays as it is, with all rows after it: inflating it would block the event loop. */
const longestRowBytes = 1024 * 1024;

/** Compresses the logs that ended in several rows. Disposal waits for the rows that are under way. */
interface Compressor extends AsyncDisposable {
  /** A log has ended that is not compressed yet. */
  readonly note: () => void;
}

/** A log that has ended, with rows as they were written. */
interface PlainLog {
  readonly place: number;
  readonly at: number;
  readonly runId: string;
}

/** Compresses one log after another, also those that an earlier process has left. A log that cannot be read is left as it is. */
export function openCompressor(
  db: Pick<Sqlite, 'prepare' | 'write'>,
  { delayMs = usualDelayMs }: { readonly delayMs?: number } = {},
): Compressor {
  let timer: NodeJS.Timeout | undefined;
  let underWay: Promise<void> | undefined;
  let isNoted = false;
  let isClosing = false;

  const compressAll = async (): Promise<void> => {
    for (let log = nextLog(db); log && !isClosing; log = nextLog(db)) {
      const outcome = await compressPart(db, log).catch((error: unknown) => {
        if (isServiceError(error, 'Unavailable')) throw error;
        return 'left' as const;
      });
      if (outcome === 'left') await leave(db, log);
    }
  };

  const begin = (): void => {
    timer = undefined;
    isNoted = false;
    underWay = compressAll().then(
      () => {
        underWay = undefined;
        if (isNoted) wait(delayMs);
      },
      () => {
        underWay = undefined;
        wait(pauseMs);
      },
    );
  };

  const wait = (ms: number): void => {
    if (!timer && !underWay && !isClosing) timer = setTimeout(begin, ms).unref();
  };

  wait(delayMs);
  return {
    note: () => {
      isNoted = true;
      wait(delayMs);
    },
    [Symbol.asyncDispose]: async () => {
      isClosing = true;
      clearTimeout(timer);
      await underWay;
    },
  };
}

/** The log that ended first of those that are to be compressed. */
const nextLog = ({ prepare }: Pick<Sqlite, 'prepare'>): PlainLog | undefined =>
  // The query names the columns.
  prepare('SELECT rowid AS place, at, run_id AS runId FROM ends WHERE is_left = 0 ORDER BY rowid LIMIT 1').get() as
    PlainLog | undefined;

const leave = async ({ prepare, write }: Pick<Sqlite, 'prepare' | 'write'>, { place }: PlainLog): Promise<void> =>
  write(() => {
    prepare('UPDATE ends SET is_left = 1 WHERE rowid = ?').run(place);
  });

/** Compresses the first rows of a log; the last time, it says that the log is compressed. Resolves with what becomes of the log. */
async function compressPart(
  { prepare, write }: Pick<Sqlite, 'prepare' | 'write'>,
  { place, at, runId }: PlainLog,
): Promise<'compressed' | 'left'> {
  const rows = firstRows({ prepare }, runId);
  const [first] = rows;
  const last = rows.at(-1);
  if (!first || !last) return 'left';
  const batches = rows.map(toBatch);
  const { scope } = toBatch(first);
  const bytes = await deflate(packEvents({ scope, events: batches.flatMap(({ events }) => events) }));
  await write(() => {
    const removed = prepare('DELETE FROM events WHERE run_id = ? AND first BETWEEN ? AND ?');
    // The log may have expired meanwhile.
    if (Number(removed.run(runId, first.first, last.first).changes) < rows.length) return;
    putCompressed({ prepare }, { runId, at }, { first: first.first, last: last.last, bytes });
    if (prepare('SELECT 1 FROM events WHERE run_id = ? LIMIT 1').get(runId)) return;
    prepare('DELETE FROM ends WHERE rowid = ?').run(place);
  });
  return 'compressed';
}

/** The first rows of a log, as many as are compressed together; none where the first is too long. */
function firstRows({ prepare }: Pick<Sqlite, 'prepare'>, runId: string): readonly EventRow[] {
  const rows: EventRow[] = [];
  let bytes = 0;
  const all = prepare(`SELECT ${rowColumns} FROM events WHERE run_id = ? ORDER BY first LIMIT ?`);
  // The query names the columns.
  for (const row of all.iterate(runId, rowsAtOnce) as unknown as Iterable<EventRow>) {
    const { byteLength } = row.bytes;
    if (byteLength > longestRowBytes || (rows.length > 0 && bytes + byteLength > partBytes)) break;
    rows.push(row);
    bytes += byteLength;
  }
  return rows;
}
