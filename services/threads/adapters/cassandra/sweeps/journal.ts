import type { ThreadKey } from '../../../ports/record.ts';
import type { Announcement, Session, Statement } from '../client/client.ts';
import { createRecent } from '../lists/hours.ts';
import { pagesOf } from '../rows/log.ts';
import { long, toKey } from '../rows/rows.ts';

/** A note of something that sweeps check until it is over. */
export interface Noted extends ThreadKey {
  readonly id: string;
  readonly bucket: number;
  /** Whether it is so old that the change it is about has been written, or never will be. */
  readonly isOld: boolean;
}

/**
 * The notes that sweeps read across all owners, in buckets of time. A note is written before the change that it is about, so that
 * change may be missing. Notes are never deleted one by one: deleted rows would accumulate where every sweep reads. A note is marked as over
 * by the change that ends what it is about; where that mark got lost, a sweep finds out. A bucket is deleted as a whole when it can
 * take no more notes and everything in it is over.
 */
export interface Journal {
  readonly note: (thread: ThreadKey, id: string, time: number) => Announcement;
  /** Marks what was noted for that time as over, once it is written. */
  readonly end: (thread: ThreadKey, id: string, time: number) => Statement;
  /** Notes that are not known to be over, the oldest bucket first, in buckets that begin at `until` or before. */
  readonly walk: (until: number) => AsyncGenerator<readonly Noted[]>;
  /**
   * Notes that are not known to be over, one by one, the oldest bucket first and each bucket by owner, thread and id. They begin after
   * `after` in the bucket of its time, and in buckets that begin at `until` or before. Only what is taken is read.
   */
  readonly inOrder: (after: ThreadKey & { readonly time: number }, until: number) => AsyncGenerator<Noted>;
  /** Notes that are not known to be over of the buckets from `from` to `until`, both times, unordered. */
  readonly between: (from: number, until: number) => Promise<readonly Noted[]>;
  /** Remembers in memory that the note is over. */
  readonly settle: (noted: Noted) => void;
}

interface JournalOptions {
  readonly session: Session;
  readonly now: () => number;
  readonly topic: string;
  readonly bucketMs: number;
  /** Whether notes are about the time at which they are made: then a bucket that is over takes no more. */
  readonly isTimely: boolean;
}

const putBucket = 'INSERT INTO journal_buckets (topic, bucket, noted) VALUES (?, ?, true)';
const putNote =
  'INSERT INTO journal (topic, bucket, owner, thread_id, id, noted) VALUES (?, ?, ?, ?, ?, true) USING TIMESTAMP ?';
const endNote =
  'INSERT INTO journal (topic, bucket, owner, thread_id, id, noted) VALUES (?, ?, ?, ?, ?, false) USING TTL ? AND TIMESTAMP ?';
const selectBuckets = 'SELECT bucket FROM journal_buckets WHERE topic = ? AND bucket <= ?';
const selectNotes =
  'SELECT owner, thread_id, id, noted, writetime(noted) AS written FROM journal WHERE topic = ? AND bucket = ?';
const selectBehind = `${selectNotes} AND (owner, thread_id) > (?, ?)`;
const dropBucket = 'DELETE FROM journal USING TIMESTAMP ? WHERE topic = ? AND bucket = ?';
const dropBucketsTo = 'DELETE FROM journal_buckets USING TIMESTAMP ? WHERE topic = ? AND bucket <= ?';

/** So long after a bucket's end most notes have come, and so often it is read again for late ones, in milliseconds. */
const lateMs = 10_000;
const rereadMs = 60_000;

/** So long after a bucket's end a note may still come, and so long after a note the change it is about: clocks and deadlines. */
const doubtMs = 10 * 60 * 1000;

export function createJournal({ session, now, topic, bucketMs, isTimely }: JournalOptions): Journal {
  const announced = createRecent(announcedKept);
  const over = new Map<number, Set<string>>();
  const read = new Map<number, { readonly notes: readonly Noted[]; readonly at: number }>();
  /** Of closed buckets, whose place in the list of buckets waits for those before them: when they were read last. */
  const removed = new Map<number, number>();
  const bucketOf = (time: number): number => Math.floor(time / bucketMs);
  const endsAt = (bucket: number): number => (bucket + 1) * bucketMs;
  const closesAt = (bucket: number): number => endsAt(bucket) + doubtMs;
  const isClosed = (bucket: number): boolean => closesAt(bucket) < now();
  const isOver = (noted: Noted): boolean => over.get(noted.bucket)?.has(nameOf(noted)) === true;

  async function* notesOf(bucket: number, after?: ThreadKey): AsyncGenerator<Noted> {
    const statement = after
      ? { cql: selectBehind, params: [topic, long(bucket), after.owner, after.threadId] }
      : { cql: selectNotes, params: [topic, long(bucket)] };
    for await (const rows of pagesOf(session, statement)) {
      for (const row of rows) {
        if (row['noted'] !== true) continue;
        const isOld = Number(row['written']) / 1000 + doubtMs < now();
        yield { ...toKey(row), id: row['id'] as string, bucket, isOld };
      }
    }
  }

  /** Whether the notes read of a bucket are still valid: when no more can come, and for a while after most have come. */
  const isFresh = (bucket: number, at: number): boolean =>
    isTimely && (closesAt(bucket) < at || (endsAt(bucket) + lateMs < at && now() - at < rereadMs));

  const load = async (bucket: number): Promise<readonly Noted[]> => {
    const known = read.get(bucket);
    const isKept = known !== undefined && isFresh(bucket, known.at);
    const at = isKept ? known.at : now();
    const notes = (isKept ? known.notes : await Array.fromAsync(notesOf(bucket))).filter((noted) => !isOver(noted));
    if (isTimely) read.set(bucket, { notes, at });
    // The bucket is not read again, so what is over in it need not be remembered.
    if (isTimely && closesAt(bucket) < at) over.delete(bucket);
    return notes;
  };

  /** Drops from memory the buckets that another process has removed. */
  const forgetOthers = (buckets: readonly number[], until: number): void => {
    const there = new Set(buckets);
    for (const known of [over, read, removed])
      for (const bucket of known.keys()) if (bucket <= until && !there.has(bucket)) known.delete(bucket);
  };

  const drop = async (cql: string, bucket: number, time: number): Promise<void> =>
    session.write({ cql, params: [long(time * 1000), topic, long(bucket)] });

  /** Removes a bucket, but nothing written since `time`. */
  const remove = async (bucket: number, time: number): Promise<void> => {
    await drop(dropBucket, bucket, time);
    over.delete(bucket);
    read.delete(bucket);
    if (isTimely) removed.set(bucket, time);
  };

  /** Removes the buckets that are over, which are passed from the first of the list on. */
  const createRemover = () => {
    /** The last of those at the front that are over. */
    let front: { readonly bucket: number; readonly time: number } | undefined;
    let isFirst = true;
    return {
      pass: async (bucket: number, isDone: boolean, time: number): Promise<void> => {
        isFirst &&= isDone;
        if (!isDone) return;
        if (!removed.has(bucket)) await remove(bucket, time);
        if (isFirst) front = { bucket, time: Math.min(time, front?.time ?? Infinity) };
      },
      // Only from the front on: then all that was removed is one range, which costs a reader nothing.
      end: async (): Promise<void> => {
        if (front) await drop(dropBucketsTo, front.bucket, front.time);
      },
    };
  };

  return {
    note: ({ owner, threadId }, id, time) => {
      const bucket = bucketOf(time);
      const note = { cql: putNote, params: [topic, long(bucket), owner, threadId, id, long(now() * 1000)] };
      if (!isClosed(bucket) && announced.has(String(bucket))) return { statements: [note] };
      return {
        statements: [{ cql: putBucket, params: [topic, long(bucket)] }, note],
        onWritten: () => announced.add(String(bucket)),
      };
    },

    end: ({ owner, threadId }, id, time) => ({
      cql: endNote,
      // Behind a note of the same millisecond.
      params: [topic, long(bucketOf(time)), owner, threadId, id, endedTtl, long(now() * 1000 + 1)],
    }),

    async *walk(until) {
      const buckets = await bucketsTo(session, topic, bucketOf(until));
      forgetOthers(buckets, bucketOf(until));
      const remover = createRemover();
      for (const bucket of buckets) {
        const begun = now();
        const notes = removed.has(bucket) ? [] : await load(bucket);
        yield notes;
        const isDone = isClosed(bucket) && notes.every(isOver);
        await remover.pass(bucket, isDone, removed.get(bucket) ?? read.get(bucket)?.at ?? begun);
      }
      await remover.end();
    },

    async *inOrder(after, until) {
      const buckets = await bucketsTo(session, topic, bucketOf(until));
      forgetOthers(buckets, bucketOf(until));
      const first = bucketOf(after.time);
      const remover = createRemover();
      try {
        for (const bucket of buckets) {
          const begun = now();
          const isWhole = bucket > first;
          let isLeft = !isWhole;
          if (bucket >= first) {
            for await (const noted of notesOf(bucket, isWhole ? undefined : after)) {
              if (isOver(noted)) continue;
              yield noted;
              isLeft ||= !isOver(noted);
            }
          }
          await remover.pass(bucket, isClosed(bucket) && !isLeft, begun);
        }
      } finally {
        await remover.end();
      }
    },

    between: async (from, until) => {
      const notes: Noted[] = [];
      for (let bucket = bucketOf(from); bucket <= bucketOf(until); bucket++) notes.push(...(await load(bucket)));
      return notes;
    },

    settle: (noted) => {
      const known = over.get(noted.bucket) ?? new Set();
      over.set(noted.bucket, known.add(nameOf(noted)));
    },
  };
}

/** A mark that is written when its bucket is gone expires after so many seconds. */
const endedTtl = 7 * 24 * 3600;

/** Buckets that are remembered as announced. */
const announcedKept = 1000;

async function bucketsTo(session: Session, topic: string, until: number): Promise<readonly number[]> {
  const buckets: number[] = [];
  for await (const rows of pagesOf(session, { cql: selectBuckets, params: [topic, long(until)] }))
    buckets.push(...rows.map((row) => Number(row['bucket'])));
  return buckets;
}

const nameOf = ({ owner, threadId, id }: Noted): string => JSON.stringify([owner, threadId, id]);
