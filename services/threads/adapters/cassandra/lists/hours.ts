import type { Announcement, Row, Session } from '../client/client.ts';
import { pagesOf } from '../rows/log.ts';
import { long } from '../rows/rows.ts';
import { hourOf } from '../rows/times.ts';

/** The hours in which a list of an owner's has rows: the list has a partition for each, so a page reads as many as it has hours. */
export interface Hours {
  /** Called before rows are written there; if they are not written, the hour is listed without rows. */
  readonly announce: (owner: string, hour: number) => Announcement;
  /** The hours up to `hour`, the newest first: 1, 2, 4 … at once, because most pages are full after the first. */
  readonly upTo: (owner: string, hour: number) => AsyncGenerator<readonly number[]>;
  /** Removes an hour whose rows are all empty. A process that writes into it again does so later, and announces it again. */
  readonly prune: (owner: string, hour: number) => Promise<void>;
}

interface HoursOptions {
  readonly session: Session;
  readonly now: () => number;
  /** The table of the hours. */
  readonly table: string;
  /** The table of the rows, and the column that is `''` where a row is empty. */
  readonly rows: { readonly table: string; readonly column: string };
  /** How long an hour is listed, in seconds; absent: until it is pruned. */
  readonly keptSeconds?: number;
}

/** Names of announced hours kept in memory. */
const announcedKept = 10_000;

/** So many hours are left alone, that clocks may differ. */
const hoursOfDoubt = 2;

export function createHours({ session, now, table, rows, keptSeconds }: HoursOptions): Hours {
  const cql = statementsOf(table, rows, keptSeconds);
  const announced = createRecent(announcedKept);
  return {
    announce: (owner, hour) => {
      const name = JSON.stringify([owner, hour]);
      if (announced.has(name)) return { statements: [] };
      return {
        statements: [{ cql: cql.putHour, params: [owner, long(hour)] }],
        onWritten: () => {
          // What was announced of an hour that is over may have been pruned since.
          if (hour >= hourOf(now())) announced.add(name);
        },
      };
    },

    upTo: async function* (owner, hour) {
      for await (const found of pagesOf(session, { cql: cql.selectHours, params: [owner, long(hour)] }))
        for (const some of growing(found)) yield some.map((row) => Number(row['hour']));
    },

    prune: async (owner, hour) => {
      if (hour > hourOf(now()) - hoursOfDoubt) return;
      const params = [owner, long(hour)];
      const [listed] = await session.read({ cql: cql.selectHour, params });
      if (!listed) return;
      let last = 0n;
      for await (const some of pagesOf(session, { cql: cql.selectTimes, params })) {
        if (some.some((row) => row['content'] !== '')) return;
        for (const { written } of some as readonly Written[]) if (written > last) last = written;
      }
      await session.write({ cql: cql.dropRows, params: [last, ...params] });
      await session.write({ cql: cql.dropHour, params: [listed['written'], ...params] });
    },
  };
}

/** `written` is in microseconds since 1970. */
interface Written extends Row {
  readonly written: bigint;
}

const statementsOf = (table: string, rows: HoursOptions['rows'], keptSeconds = 0) => ({
  putHour: `INSERT INTO ${table} (owner, hour, noted) VALUES (?, ?, true)${keptSeconds === 0 ? '' : ` USING TTL ${String(keptSeconds)}`}`,
  selectHours: `SELECT hour FROM ${table} WHERE owner = ? AND hour <= ?`,
  selectHour: `SELECT writetime(noted) AS written FROM ${table} WHERE owner = ? AND hour = ?`,
  dropHour: `DELETE FROM ${table} USING TIMESTAMP ? WHERE owner = ? AND hour = ?`,
  selectTimes: `SELECT ${rows.column} AS content, writetime(${rows.column}) AS written FROM ${rows.table} WHERE owner = ? AND hour = ?`,
  dropRows: `DELETE FROM ${rows.table} USING TIMESTAMP ? WHERE owner = ? AND hour = ?`,
});

function* growing<T>(items: readonly T[]): Generator<readonly T[]> {
  for (let at = 0, size = 1; at < items.length; at += size, size = Math.min(size * 2, maxHoursAtOnce))
    yield items.slice(at, at + size);
}

const maxHoursAtOnce = 8;

/** A set of bounded size; the oldest names are dropped first. */
export function createRecent(size: number): Pick<Set<string>, 'has'> & { readonly add: (name: string) => void } {
  const names = new Set<string>();
  return {
    has: (name) => names.has(name),
    add: (name) => {
      names.add(name);
      for (const oldest of names) {
        if (names.size <= size) return;
        names.delete(oldest);
      }
    },
  };
}
