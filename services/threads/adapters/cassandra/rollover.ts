import { types } from 'cassandra-driver';
import type { ThreadKey } from '../../ports/record.ts';
import { tryBatch, type InLine } from './change/change.ts';
import type { Row, Session, Statement } from './client/client.ts';
import { chunksOf, mapConcurrently, isUntouched, pagesOf } from './rows/log.ts';
import { headRow, type PlanOptions, type SegmentSizes } from './change/plan.ts';
import { long, nothing, positionOf, type Layout } from './rows/rows.ts';
import { kinds } from './rows/schema.ts';
import { dropSegments } from './purge.ts';
import { readHead } from './change/snapshot.ts';

/**
 * Moves the older part of a long log from the thread's partition to segments. Rows are copied first, each under the time at which it
 * was written: copied twice, by two processes, or by one that paused in between, a segment comes out the same. Then one
 * conditional batch moves the boundary and removes the copied rows, provided that none of them has changed since.
 */
interface RollOver {
  readonly isDue: (layout: Layout) => boolean;
  /** Resolves as well when there is nothing to do, or when other changes leave no room: the next one tries again. */
  readonly roll: (key: ThreadKey) => Promise<void>;
}

interface RollOverOptions extends Pick<PlanOptions, 'sizes' | 'newStamp'> {
  readonly session: Session;
  readonly inLine: InLine;
}

export function createRollOver({ session, sizes, newStamp, inLine }: RollOverOptions): RollOver {
  const rolling = new Set<string>();

  /** @returns whether there is nothing more to do. */
  const rollSome = async (key: ThreadKey): Promise<boolean> => {
    const { head, layout } = await readHead(session, key, true);
    if (!head || head.deleting || !layout || !isOverfull(layout, sizes)) return true;
    const copied = await copy(session, key, layout, boundaryOf(layout, sizes));
    if (copied.rows === 0 && copied.boundary === layout.rolledTo) return true;
    await inLine(key, async () => moveBoundary(session, key, { copied, newStamp }));
    return false;
  };

  return {
    isDue: (layout) => isOverfull(layout, sizes),
    roll: async (key) => {
      const name = JSON.stringify([key.owner, key.threadId]);
      if (rolling.has(name)) return;
      rolling.add(name);
      try {
        for (let tries = 0; tries < maxTries; tries += 1) if (await rollSome(key)) return;
      } finally {
        rolling.delete(name);
      }
    },
  };
}

/** Copies that are made for one call. */
const maxTries = 10;
/** Writes that are tried for one copy, while commits come between. */
const maxMoves = 20;

const isOverfull = ({ rows, bytes }: Layout, { maxRows, maxBytes }: SegmentSizes): boolean =>
  rows > maxRows || bytes > maxBytes;

/** Of a log with many rows whole segments stay; of one with many bytes only its newest entries. */
function boundaryOf({ rolledTo, rows, top, width }: Layout, { maxRows, keptRows }: SegmentSizes): number {
  const boundary = rows > maxRows ? Math.floor((top - keptRows) / width) * width : top - Math.min(keptRows, largeKept);
  return Math.max(rolledTo, boundary);
}

/** So many of the largest messages are well below the bound. */
const largeKept = 4;

const ofLog = `owner = ? AND thread_id = ? AND kind = ${kinds.log}`;
const selectRows = `SELECT n, message_id, json, version, writetime(message_id) AS written FROM thread WHERE ${ofLog} AND n < ?`;
const selectStampTime = `SELECT writetime(stamp) AS written FROM thread
  WHERE owner = ? AND thread_id = ? AND kind = ${kinds.head} AND n = 0 AND id = ''`;
const selectLeft = `SELECT n FROM thread WHERE ${ofLog} AND n >= ?`;
const putRow = `INSERT INTO segment (owner, thread_id, life, segment, position, message_id, json, version)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?) USING TIMESTAMP ?`;
const dropRows = `DELETE FROM thread WHERE ${ofLog} AND n < ?`;

interface Copied {
  /** The layout whose rows were copied. */
  readonly layout: Layout;
  readonly boundary: number;
  readonly rows: number;
  readonly bytes: number;
}

async function copy(session: Session, key: ThreadKey, layout: Layout, boundary: number): Promise<Copied> {
  const places = new Set<number>();
  let bytes = 0;
  const params = [key.owner, key.threadId, long(boundary)];
  const [stamped] = layout.wasCut ? await session.read({ cql: selectStampTime, params: params.slice(0, 2) }) : [];
  for await (const rows of pagesOf(session, { cql: selectRows, params })) {
    await writeRows(
      session,
      rows.map((row) => segmentRow(key, layout, row)),
    );
    for (const row of rows) {
      places.add(positionOf(row));
      bytes += (row['json'] as Buffer).length;
    }
  }
  if (stamped) {
    const gaps = Array.from({ length: boundary - layout.rolledTo }, (_, index) => layout.rolledTo + index);
    const marks = gaps.filter((position) => !places.has(position)).map((position) => goneRow(position, stamped));
    await writeRows(
      session,
      marks.map((row) => segmentRow(key, layout, row)),
    );
  }
  return { layout, boundary, rows: places.size, bytes };
}

/** Covers what a log that was cut off has left in a segment. */
const goneRow = (position: number, { written }: Row): Row => ({
  n: long(position),
  message_id: '',
  json: nothing,
  written,
});

interface SegmentRow extends Statement {
  readonly segment: number;
}

function segmentRow({ owner, threadId }: ThreadKey, { life, width }: Layout, row: Row): SegmentRow {
  const position = positionOf(row);
  const segment = Math.floor(position / width);
  const { message_id: messageId, json, version, written } = row;
  const params = [
    owner,
    threadId,
    life,
    long(segment),
    long(position),
    messageId,
    json,
    version ?? types.unset,
    written,
  ];
  return { segment, cql: putRow, params };
}

/** Rows of one batch at most; the pages that they come from are bounded in bytes. */
const rowsOfBatch = 100;

async function writeRows(session: Session, rows: readonly SegmentRow[]): Promise<void> {
  const batches = [...Map.groupBy(rows, ({ segment }) => segment).values()].flatMap((some) =>
    chunksOf(some, rowsOfBatch),
  );
  await mapConcurrently(batches, async (batch) => session.write(...batch));
}

async function moveBoundary(
  session: Session,
  key: ThreadKey,
  { copied, newStamp }: { readonly copied: Copied; readonly newStamp: () => string },
): Promise<void> {
  const { boundary } = copied;
  const params = [key.owner, key.threadId, long(boundary)];
  const before = (await readHead(session, key)).layout?.rows ?? 0;
  let left = 0;
  for await (const rows of pagesOf(session, { cql: selectLeft, params })) left += rows.length;
  for (let tries = 0; tries < maxMoves; tries += 1) {
    const seen = await readHead(session, key, true);
    const { head, layout } = seen;
    // The thread was removed meanwhile, and the purge did not know of these segments.
    if (layout?.life !== copied.layout.life) return dropSegments(session, key, copied.layout);
    if (!head || !isUntouched(copied.layout, layout)) return;
    const moved: Layout = {
      ...layout,
      rolledTo: boundary,
      hasOverlays: false,
      rows: left + layout.rows - before,
      bytes: Math.max(layout.bytes - copied.bytes, 0),
    };
    const put = headRow(key, { seen, head, layout: moved, stamp: newStamp() });
    // The next reading of the head settles an unknown outcome: the boundary has moved, or it has not.
    if ((await tryBatch(session, [put, { cql: dropRows, params }])) === 'applied') return;
  }
}
