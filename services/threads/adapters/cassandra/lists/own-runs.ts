import { types } from 'cassandra-driver';
import { createQuota } from '@agent-workflow/kit/pages';
import type { OwnRunRow, OwnRunsPart, RunMark, ThreadLists } from '../../../ports/lists.ts';
import type { Head, RunRecord, ThreadKey } from '../../../ports/record.ts';
import { runBytes } from '../../../record/row-sizes.ts';
import type { Announcement, Row, Session, Statement } from '../client/client.ts';
import { chunksOf, inTurn } from '../rows/log.ts';
import { long, toHead, toRunRow } from '../rows/rows.ts';
import { kinds } from '../rows/schema.ts';
import { hourOf } from '../rows/times.ts';
import { createHours } from './hours.ts';

/**
 * The list of an owner's runs by the time of their acceptance. It has a row per run, which names its thread and is never written
 * again: what becomes of the run stands in the thread's partition alone. The row is written before the change that makes
 * the run, so it may be there in vain; and it is emptied with its thread, which leaves no tombstone.
 */
export interface OwnRuns {
  readonly announce: (
    key: ThreadKey,
    of: { readonly newRuns: readonly RunRecord[]; readonly head: Pick<Head, 'agent'> },
  ) => readonly Announcement[];
  readonly list: ThreadLists['listOwnRuns'];
  /** What empties the row of a run, but not when it was written since `time` (microseconds). */
  readonly empty: (owner: string, mark: RunMark, time: number) => Statement;
  /** Removes the hours of these runs that have no run any more. */
  readonly prune: (owner: string, marks: readonly Pick<RunMark, 'createdAt'>[]) => Promise<void>;
}

const columns = 'owner, hour, created_at, run_id, thread_id';
const putRow = `INSERT INTO runs_by_owner (${columns}, agent) VALUES (?, ?, ?, ?, ?, ?)`;
const emptyRow = `INSERT INTO runs_by_owner (${columns}) VALUES (?, ?, ?, ?, '') USING TIMESTAMP ?`;
const selectRows = `SELECT created_at, run_id, thread_id, agent FROM runs_by_owner
  WHERE owner = ? AND hour = ? AND (created_at, run_id) < (?, ?) LIMIT ?`;
const selectRuns = 'SELECT kind, id, head, run FROM thread WHERE owner = ? AND thread_id = ? AND (kind, n, id) IN ?';

export function createOwnRuns({ session, now }: { readonly session: Session; readonly now: () => number }): OwnRuns {
  const rows = { table: 'runs_by_owner', column: 'thread_id' };
  const hours = createHours({ session, now, table: 'run_hours_by_owner', rows });

  const readPlaces = async (owner: string, limit: number, after: RunMark): Promise<readonly Place[]> => {
    const places: Place[] = [];
    for await (const some of hours.upTo(owner, hourOf(after.createdAt))) {
      const left = limit - places.length;
      const params = [long(after.createdAt), after.runId, left];
      const found = await inTurn(some, (hour) =>
        session.read({ cql: selectRows, params: [owner, long(hour), ...params] }),
      );
      places.push(...found.flat().slice(0, left).map(toPlace));
      if (places.length === limit) break;
    }
    return places;
  };

  return {
    announce: ({ owner, threadId }, { newRuns, head: { agent = unnamed } }) => [
      ...newRuns.map(({ runId, createdAt }) => ({
        statements: [{ cql: putRow, params: [...placeParams(owner, { createdAt, runId }), threadId, agent] }],
      })),
      ...hoursOf(newRuns).map((hour) => hours.announce(owner, hour)),
    ],

    list: async (owner, { limit, after = { createdAt: Number.MAX_SAFE_INTEGER, runId: '' }, bytes, agent }) => {
      const places = await readPlaces(owner, limit, after);
      const part: OwnRunRow[] = [];
      const isEnough = createQuota(bytes);
      const isOfUse = (of: Place): boolean => agent === undefined || of.agent === null || of.agent === agent;
      for (const some of chunksOf(places.filter(isOfUse))) {
        const runs = await readRuns(session, owner, some);
        for (const place of some) {
          const run = runs.get(nameOf(place));
          if (!run) continue;
          part.push(run);
          if (isEnough(runBytes(run))) return endingAt(part, place);
        }
      }
      return endingAt(part, places[limit - 1]);
    },

    empty: (owner, mark, time) => ({ cql: emptyRow, params: [...placeParams(owner, mark), long(time)] }),

    prune: async (owner, marks) => {
      await inTurn(hoursOf(marks), (hour) => hours.prune(owner, hour));
    },
  };
}

const hoursOf = (runs: readonly Pick<RunMark, 'createdAt'>[]): number[] => [
  ...new Set(runs.map(({ createdAt }) => hourOf(createdAt))),
];

const placeParams = (owner: string, { createdAt, runId }: RunMark): unknown[] => [
  ...[owner, long(hourOf(createdAt)), long(createdAt), runId],
];

/** A row of the list; without a thread where it is empty. */
interface Place extends RunMark {
  readonly threadId: string;
  /** Null where an earlier version of the service wrote the row. */
  readonly agent: string | null;
}

/** The agent of a place whose thread has none, or that of the name `default`. */
const unnamed = '';

const toPlace = (row: Row): Place => ({
  createdAt: Number(row['created_at']),
  runId: row['run_id'] as string,
  threadId: row['thread_id'] as string,
  agent: row['agent'] as string | null,
});

const endingAt = (runs: readonly OwnRunRow[], place: RunMark | undefined): OwnRunsPart => ({
  runs,
  ...(place && { next: { createdAt: place.createdAt, runId: place.runId } }),
});

/** A run that was accepted in a later attempt than the row was written for has another row, of another time. */
const nameOf = ({ threadId, runId, createdAt }: Omit<Place, 'agent'>): string =>
  JSON.stringify([threadId, runId, createdAt]);

/** The runs that are on record at these places, each read beside the head of its thread, in one statement per thread. */
async function readRuns(
  session: Session,
  owner: string,
  places: readonly Place[],
): Promise<ReadonlyMap<string, OwnRunRow>> {
  const byThread = Map.groupBy(
    places.filter(({ threadId }) => threadId !== ''),
    ({ threadId }) => threadId,
  );
  const found = await inTurn([...byThread], async ([threadId, some]) => {
    const names = [
      new types.Tuple(kinds.head, long(0), ''),
      ...some.map(({ runId }) => new types.Tuple(kinds.run, long(0), runId)),
    ];
    const rows = await session.read({ cql: selectRuns, params: [owner, threadId, names] });
    const headRow = rows.find((row) => row['kind'] === kinds.head);
    const head = headRow && toHead(headRow);
    if (!head || head.deleting) return [];
    return rows.filter((row) => row['kind'] === kinds.run).map((row) => ({ ...toRunRow(row), head }));
  });
  return new Map(found.flat().map((run) => [nameOf(run), run]));
}
