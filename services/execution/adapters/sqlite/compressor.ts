import { isServiceError } from '@agent-workflow/kit/errors';
import { packEvents } from '@agent-workflow/protos/event-pack';
import type { Sqlite } from '@agent-workflow/runtime/sqlite/sqlite';
import { deflate } from './deflate.ts';
import { putCompressed, rowColumns, toBatch, type EventRow } from './stored.ts';

/** Milliseconds from the end of a log until it is compressed. */
const usualDelayMs = 1000;
/** Logs that are due within so many milliseconds of each other are compressed together. */
const togetherMs = 20;
/** Milliseconds until a file that cannot be read or written is tried again. */
const pauseMs = 10_000;
/** The most rows that are compressed together, and their bytes, which a follower inflates together. */
const rowsAtOnce = 512;
const partBytes = 64 * 1024;
/** A longer row stays as it is, with all rows after it: inflating it would block the event loop. */
const longestRowBytes = 1024 * 1024;

/** A log that has ended, with rows as they were written. */
interface PlainLog {
  readonly place: number;
  readonly at: number;
  readonly runId: string;
}

/**
 * Compresses the logs that ended in several rows, one after another, also those that an earlier process has left. Each has its time, some while
 * after its end: all at once would slow the runs of that moment. A log that cannot be read is left as it is. Disposal waits for the rows that are under way.
 */
export class Compressor implements AsyncDisposable {
  readonly #db: Pick<Sqlite, 'prepare' | 'write'>;
  readonly #delayMs: number;
  #timer: NodeJS.Timeout | undefined;
  #underWay: Promise<void> | undefined;
  #isNoted = false;
  #isClosing = false;

  constructor(db: Pick<Sqlite, 'prepare' | 'write'>, delayMs: number = usualDelayMs) {
    this.#db = db;
    this.#delayMs = delayMs;
    this.#wait(delayMs);
  }

  /** A log has ended that is not compressed yet. */
  note(): void {
    this.#isNoted = true;
    this.#wait(this.#delayMs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosing = true;
    clearTimeout(this.#timer);
    await this.#underWay;
  }

  #wait(ms: number): void {
    if (this.#timer || this.#underWay || this.#isClosing) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#underWay = this.#compressNow();
    }, ms).unref();
  }

  async #compressNow(): Promise<void> {
    this.#isNoted = false;
    const waitMs = await this.#compressDue().catch(() => pauseMs);
    this.#underWay = undefined;
    if (waitMs === undefined) this.#waitIfNoted();
    else this.#wait(waitMs);
  }

  /** A log may have ended while others were compressed. */
  #waitIfNoted(): void {
    if (this.#isNoted) this.#wait(this.#delayMs);
  }

  /** Resolves with the milliseconds until the next log is due; `undefined` where there is none. */
  async #compressDue(): Promise<number | undefined> {
    for (let log = nextLog(this.#db); log && !this.#isClosing; log = nextLog(this.#db)) {
      const dueInMs = log.at + this.#delayMs - Date.now();
      // Where the clock has gone back, it has ended in the future: that is no reason to wait.
      if (dueInMs > 0 && dueInMs <= this.#delayMs) return Math.max(dueInMs, togetherMs);
      const outcome = await compressPart(this.#db, log).catch((error: unknown) => {
        if (isServiceError(error, 'Unavailable')) throw error;
        return 'left' as const;
      });
      if (outcome === 'left') await leave(this.#db, log);
    }
    return undefined;
  }
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
