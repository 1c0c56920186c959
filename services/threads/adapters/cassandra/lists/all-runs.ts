import { createHash } from 'node:crypto';
import { createQuota } from '@agent-workflow/kit/pages';
import type { AllRunsPart, AnyRunRow, RunMark, ThreadLists } from '../../../ports/lists.ts';
import type { RunRecord, ThreadKey } from '../../../ports/record.ts';
import { ownRunBytes } from '../../../record/row-sizes.ts';
import type { Announcement, Row, Session, Statement } from '../client/client.ts';
import { chunksOf, mapConcurrently } from '../rows/log.ts';
import { long } from '../rows/rows.ts';
import { hourOf } from '../rows/times.ts';
import { createHours } from './hours.ts';
import { nameOf, readRuns } from './own-runs.ts';

/**
 * The list of the runs of all owners by the time of their acceptance, in the table of the lists of owners. It is divided into shards by the id of
 * the run, so that no partition takes the runs of everybody in an hour. A row is written once, before the change that makes the run, and expires.
 */
interface AllRuns {
  readonly announce: (key: ThreadKey, newRuns: readonly RunRecord[]) => readonly Announcement[];
  readonly list: ThreadLists['listAllRuns'];
  /** What empties the row of a run, but not one that was written since `time` (microseconds). */
  readonly empty: (owner: string, mark: RunMark, time: number) => Statement;
}

const shards = 8;

/** How long a row is kept, in seconds: 90 days. Operators read the newest. */
const keptSeconds = 90 * 24 * 3600;

const insert = 'INSERT INTO runs_by_owner (owner, hour, created_at, run_id, thread_id) VALUES';
const putRow = `${insert} (?, ?, ?, ?, ?) USING TTL ${String(keptSeconds)}`;
const emptyRow = `${insert} (?, ?, ?, ?, '') USING TTL ${String(keptSeconds)} AND TIMESTAMP ?`;
const selectRows = `SELECT created_at, run_id, thread_id FROM runs_by_owner
  WHERE owner = ? AND hour = ? AND (created_at, run_id) < (?, ?) LIMIT ?`;

/** What the list has in the place of an owner, whose own names begin with a letter. */
const nameOfShard = (shard: number): string => JSON.stringify([shard]);

const listOf = (runId: string): string => nameOfShard((createHash('sha256').update(runId).digest()[0] ?? 0) % shards);

/** A row of the list; without a thread where it is empty. */
interface Place extends RunMark, ThreadKey {}

interface AllRunsOptions {
  readonly session: Session;
  readonly now: () => number;
}

export function createAllRuns({ session, now }: AllRunsOptions): AllRuns {
  const rows = { table: 'runs_by_owner', column: 'thread_id' };
  const hours = createHours({ session, now, table: 'run_hours_by_owner', rows, keptSeconds });

  /** The first places of a shard following `after`. */
  const readShard = async (list: string, limit: number, after: RunMark): Promise<readonly Place[]> => {
    const places: Place[] = [];
    for await (const some of hours.upTo(list, hourOf(after.createdAt))) {
      const params = [long(after.createdAt), after.runId, limit - places.length];
      const found = await mapConcurrently(some, (hour) =>
        session.read({ cql: selectRows, params: [list, long(hour), ...params] }),
      );
      places.push(
        ...found
          .flat()
          .slice(0, limit - places.length)
          .map(toPlace),
      );
      if (places.length === limit) break;
    }
    return places;
  };

  return {
    announce: ({ owner, threadId }, newRuns) =>
      newRuns.flatMap((run) => [
        { statements: [{ cql: putRow, params: [...placeParams(owner, run), threadId] }] },
        hours.announce(listOf(run.runId), hourOf(run.createdAt)),
      ]),

    list: async ({ limit, after = { createdAt: Number.MAX_SAFE_INTEGER, runId: '' }, bytes }) => {
      const names = Array.from({ length: shards }, (_, shard) => nameOfShard(shard));
      const found = await mapConcurrently(names, (list) => readShard(list, limit, after));
      const places = found.flat().toSorted(newestFirst).slice(0, limit);
      const part: AnyRunRow[] = [];
      const isEnough = createQuota(bytes);
      for (const some of chunksOf(places)) {
        const runs = await readPlaces(session, some);
        for (const place of some) {
          const run = runs.get(fullName(place));
          if (!run) continue;
          part.push(run);
          if (isEnough(ownRunBytes(run))) return endingAt(part, place);
        }
      }
      return endingAt(part, places[limit - 1]);
    },

    empty: (owner, mark, time) => ({ cql: emptyRow, params: [...placeParams(owner, mark), long(time)] }),
  };
}

/** The id of the run comes first, so that marks without an owner have their place; no id has a line break. */
const placeParams = (owner: string, { createdAt, runId }: RunMark): unknown[] => [
  ...[listOf(runId), long(hourOf(createdAt)), long(createdAt), `${runId}\n${owner}`],
];

function toPlace(row: Row): Place {
  const name = row['run_id'] as string;
  const end = name.indexOf('\n');
  return {
    createdAt: Number(row['created_at']),
    runId: name.slice(0, end),
    owner: name.slice(end + 1),
    threadId: row['thread_id'] as string,
  };
}

const newestFirst = (a: RunMark, b: RunMark): number =>
  b.createdAt - a.createdAt || (a.runId < b.runId ? 1 : a.runId > b.runId ? -1 : 0);

const endingAt = (runs: readonly AnyRunRow[], place: RunMark | undefined): AllRunsPart => ({
  runs,
  ...(place && { next: { createdAt: place.createdAt, runId: place.runId } }),
});

const fullName = (place: Place): string => JSON.stringify([place.owner, nameOf(place)]);

/** The runs that are on record at these places, read owner by owner. */
async function readPlaces(session: Session, places: readonly Place[]): Promise<ReadonlyMap<string, AnyRunRow>> {
  const byOwner = Map.groupBy(places, ({ owner }) => owner);
  const found = await mapConcurrently([...byOwner], async ([owner, some]) =>
    [...(await readRuns(session, owner, some))].map(
      ([name, run]) => [JSON.stringify([owner, name]), { ...run, owner }] as const,
    ),
  );
  return new Map(found.flat());
}
