import { types } from 'cassandra-driver';
import { createQuota } from '@agent-workflow/kit/pages';
import type { OwnRunRow, OwnRunsPart, RunMark, ThreadLists } from '../../../ports/lists.ts';
import type { Head, RunRecord, ThreadKey } from '../../../ports/record.ts';
import { ownRunBytes } from '../../../record/row-sizes.ts';
import type { Announcement, Row, Session, Statement } from '../client/client.ts';
import { chunksOf, mapConcurrently } from '../rows/log.ts';
import { long, toHead, toRunRow } from '../rows/rows.ts';
import { kinds } from '../rows/schema.ts';
import { hourOf } from '../rows/times.ts';
import { createHours } from './hours.ts';

/**
 * The list of an owner's runs by the time of their acceptance, and one more of those of each named agent. It has a row per run, which names
 * its thread and is never written again: what becomes of the run stands in the thread's partition alone. The row is written before the
 * change that makes the run, so it may be there without that run; and it is emptied with its thread, which leaves no tombstone.
 */
export interface OwnRuns {
  readonly announce: (
    key: ThreadKey,
    change: { readonly newRuns: readonly RunRecord[]; readonly head: Pick<Head, 'agent'> },
  ) => readonly Announcement[];
  readonly list: ThreadLists['listOwnRuns'];
  /** What empties the rows of a run, but not those that were written since `time` (microseconds). */
  readonly empty: (thread: OwnerAndAgent, mark: RunMark, time: number) => readonly Statement[];
  /** Removes the hours of these runs that have no run any more. */
  readonly prune: (thread: OwnerAndAgent, marks: readonly Pick<RunMark, 'createdAt'>[]) => Promise<void>;
}

/** Whose runs they are, and the agent of their thread, if it has a name. */
interface OwnerAndAgent {
  readonly owner: string;
  readonly agent: string | undefined;
}

const columns = 'owner, hour, created_at, run_id, thread_id';
const putRow = `INSERT INTO runs_by_owner (${columns}) VALUES (?, ?, ?, ?, ?)`;
const emptyRow = `INSERT INTO runs_by_owner (${columns}) VALUES (?, ?, ?, ?, '') USING TIMESTAMP ?`;
const selectRows = `SELECT created_at, run_id, thread_id FROM runs_by_owner
  WHERE owner = ? AND hour = ? AND (created_at, run_id) < (?, ?) LIMIT ?`;
const selectRuns = 'SELECT kind, id, head, run FROM thread WHERE owner = ? AND thread_id = ? AND (kind, n, id) IN ?';

interface OwnRunsOptions {
  readonly session: Session;
  readonly now: () => number;
}

export function createOwnRuns({ session, now }: OwnRunsOptions): OwnRuns {
  const rows = { table: 'runs_by_owner', column: 'thread_id' };
  const hours = createHours({ session, now, table: 'run_hours_by_owner', rows });

  /** The first places of a list following `after`. */
  const readPlaces = async (list: string, limit: number, after: RunMark): Promise<readonly Place[]> => {
    const places: Place[] = [];
    for await (const some of hours.upTo(list, hourOf(after.createdAt))) {
      const left = limit - places.length;
      const params = [long(after.createdAt), after.runId, left];
      const found = await mapConcurrently(some, (hour) =>
        session.read({ cql: selectRows, params: [list, long(hour), ...params] }),
      );
      places.push(...found.flat().slice(0, left).map(toPlace));
      if (places.length === limit) break;
    }
    return places;
  };

  return {
    announce: ({ owner, threadId }, { newRuns, head: { agent } }) =>
      listsOf({ owner, agent }).flatMap((list) => [
        ...newRuns.map(({ runId, createdAt }) => ({
          statements: [{ cql: putRow, params: [...placeParams(list, { createdAt, runId }), threadId] }],
        })),
        ...hoursOf(newRuns).map((hour) => hours.announce(list, hour)),
      ]),

    list: async (owner, { limit, after = { createdAt: Number.MAX_SAFE_INTEGER, runId: '' }, bytes, agent }) => {
      const places = await readPlaces(agent === undefined ? owner : listOf(owner, agent), limit, after);
      const part: OwnRunRow[] = [];
      const isEnough = createQuota(bytes);
      for (const some of chunksOf(places)) {
        const runs = await readRuns(session, owner, some);
        for (const place of some) {
          const run = runs.get(nameOf(place));
          if (!run) continue;
          part.push(run);
          if (isEnough(ownRunBytes(run))) return endingAt(part, place);
        }
      }
      return endingAt(part, places[limit - 1]);
    },

    empty: (thread, mark, time) =>
      listsOf(thread).map((list) => ({ cql: emptyRow, params: [...placeParams(list, mark), long(time)] })),

    prune: async (thread, marks) => {
      for (const list of listsOf(thread)) await mapConcurrently(hoursOf(marks), (hour) => hours.prune(list, hour));
    },
  };
}

/** What the list of an agent's runs has in the place of an owner, whose own names begin with a letter. */
const listOf = (owner: string, agent: string): string => JSON.stringify([owner, agent]);

/** The lists that have a run. */
const listsOf = ({ owner, agent }: OwnerAndAgent): readonly string[] =>
  agent === undefined ? [owner] : [owner, listOf(owner, agent)];

const hoursOf = (runs: readonly Pick<RunMark, 'createdAt'>[]): number[] => [
  ...new Set(runs.map(({ createdAt }) => hourOf(createdAt))),
];

const placeParams = (list: string, { createdAt, runId }: RunMark): unknown[] => [
  ...[list, long(hourOf(createdAt)), long(createdAt), runId],
];

/** A row of the list; without a thread where it is empty. */
interface Place extends RunMark {
  readonly threadId: string;
}

const toPlace = (row: Row): Place => ({
  createdAt: Number(row['created_at']),
  runId: row['run_id'] as string,
  threadId: row['thread_id'] as string,
});

const endingAt = (runs: readonly OwnRunRow[], place: RunMark | undefined): OwnRunsPart => ({
  runs,
  ...(place && { next: { createdAt: place.createdAt, runId: place.runId } }),
});

/** A run that was accepted in a later attempt than the row was written for has another row, of another time. */
export const nameOf = ({ threadId, runId, createdAt }: Place): string => JSON.stringify([threadId, runId, createdAt]);

/** The runs that are on record at these places, each read beside the head of its thread, in one statement per thread. */
export async function readRuns(
  session: Session,
  owner: string,
  places: readonly Place[],
): Promise<ReadonlyMap<string, OwnRunRow>> {
  const byThread = Map.groupBy(
    places.filter(({ threadId }) => threadId !== ''),
    ({ threadId }) => threadId,
  );
  const found = await mapConcurrently([...byThread], async ([threadId, some]) => {
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
