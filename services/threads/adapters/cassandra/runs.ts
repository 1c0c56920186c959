import { conflict } from '@agent-workflow/kit/errors';
import { createQuota } from '@agent-workflow/kit/pages';
import type { Reads } from '../../ports/changes.ts';
import type { PageLimits, RunMark, RunRow } from '../../ports/lists.ts';
import type { RunRecord, ThreadKey } from '../../ports/record.ts';
import { runBytes } from '../../record/row-sizes.ts';
import type { Ahead } from './change/change.ts';
import type { Announcement, Session, Statement } from './client/client.ts';
import type { OwnRuns } from './lists/own-runs.ts';
import { chunksOf, mapConcurrently } from './rows/log.ts';
import { long, toRun, toRunRow } from './rows/rows.ts';
import { kinds } from './rows/schema.ts';

/** The runs of a thread are in its partition; the table `run_by_id` names the thread of each run. */
export interface Runs {
  /** Which thread a run is of, for {@link Runs.announce}. */
  readonly readAhead: (owner: string, run: NonNullable<Reads['newRun']>) => Ahead;
  /** Before the change is written that makes the runs. @throws Conflict when one of them is another thread's. */
  readonly announce: (key: ThreadKey, runs: readonly RunRecord[], ahead: Ahead) => Promise<Announcement>;
  readonly get: (owner: string, runId: string) => Promise<RunRecord | undefined>;
  readonly getOf: (key: ThreadKey, runId: string) => Promise<RunRecord | undefined>;
  readonly getRowOf: (key: ThreadKey, runId: string) => Promise<RunRow | undefined>;
  readonly list: (key: ThreadKey, page: RunsPage) => Promise<readonly RunRow[]>;
  /** Removes the thread's runs from `run_by_id` and from the lists of its owner, but nothing written since `time` (microseconds). */
  readonly forget: (key: ThreadKey, agent: string | undefined, time: number) => Promise<readonly RunMark[]>;
}

interface RunsPage extends PageLimits {
  readonly offset?: number;
  readonly after?: RunMark | undefined;
}

const selectThread = 'SELECT thread_id FROM run_by_id WHERE owner = ? AND run_id = ?';
const putThread = 'INSERT INTO run_by_id (owner, run_id, thread_id) VALUES (?, ?, ?)';
const dropThread = 'DELETE FROM run_by_id USING TIMESTAMP ? WHERE owner = ? AND run_id = ?';
const selectRuns = `SELECT id, run, options, input FROM thread
  WHERE owner = ? AND thread_id = ? AND kind = ${kinds.run} AND n = 0 AND id IN ?`;
const selectRunRows = `SELECT id, run FROM thread
  WHERE owner = ? AND thread_id = ? AND kind = ${kinds.run} AND n = 0 AND id IN ?`;
const ofOrder = `owner = ? AND thread_id = ? AND kind = ${kinds.runOrder}`;
const selectOrder = `SELECT id FROM thread WHERE ${ofOrder} AND (n, id) < (?, ?) ORDER BY kind DESC, n DESC, id DESC LIMIT ?`;
const selectIds = `SELECT n, id FROM thread WHERE ${ofOrder}`;

export function createRuns(session: Session, ownRuns: Pick<OwnRuns, 'empty'>): Runs {
  const threadOf = async (owner: string, runId: string): Promise<string | undefined> => {
    const [row] = await session.read({ cql: selectThread, params: [owner, runId] });
    return row?.['thread_id'] as string | undefined;
  };

  const getOf = async ({ owner, threadId }: ThreadKey, runId: string): Promise<RunRecord | undefined> => {
    const [row] = await session.read({ cql: selectRuns, params: [owner, threadId, [runId]] });
    return row && toRun(row);
  };

  const getRows = async ({ owner, threadId }: ThreadKey, ids: readonly string[]): Promise<Map<string, RunRow>> => {
    const rows = await session.read({ cql: selectRunRows, params: [owner, threadId, ids] });
    return new Map(rows.map((row) => [row['id'] as string, toRunRow(row)]));
  };

  const announce = async (
    { owner, threadId }: ThreadKey,
    runId: string,
    ahead: Ahead,
  ): Promise<readonly Statement[]> => {
    const read = await ahead;
    const known = read?.runId === runId ? read.threadId : await threadOf(owner, runId);
    if (known === threadId) return [];
    // A run that the table names and that is not on record was announced by a change that was not written.
    if (known !== undefined && (await getOf({ owner, threadId: known }, runId)))
      throw conflict(`run "${runId}" belongs to another thread`);
    return [{ cql: putThread, params: [owner, runId, threadId] }];
  };

  return {
    readAhead: async (owner, { runId, isNew }) => ({
      runId,
      threadId: isNew ? undefined : await threadOf(owner, runId),
    }),
    announce: async (key, runs, ahead) => ({
      statements: (await mapConcurrently(runs, ({ runId }) => announce(key, runId, ahead))).flat(),
    }),
    get: async (owner, runId) => {
      const threadId = await threadOf(owner, runId);
      return threadId === undefined ? undefined : getOf({ owner, threadId }, runId);
    },
    getOf,
    getRowOf: async (key, runId) => (await getRows(key, [runId])).get(runId),
    list: async (key, { limit, offset = 0, after, bytes }) => {
      const { createdAt, runId } = after ?? { createdAt: Number.MAX_SAFE_INTEGER, runId: '' };
      const params = [key.owner, key.threadId, long(createdAt), runId, offset + limit];
      const rows = await session.read({ cql: selectOrder, params });
      const ids = rows.slice(offset).map((row) => row['id'] as string);
      const list: RunRow[] = [];
      const isEnough = createQuota(bytes);
      for (const some of chunksOf(ids)) {
        const runs = await getRows(key, some);
        for (const id of some) {
          const run = runs.get(id);
          if (!run) continue;
          list.push(run);
          if (isEnough(runBytes(run))) return list;
        }
      }
      return list;
    },
    forget: async ({ owner, threadId }, agent, time) => {
      const rows = await session.read({ cql: selectIds, params: [owner, threadId] });
      const marks = rows.map((row) => ({ createdAt: Number(row['n']), runId: row['id'] as string }));
      await mapConcurrently(marks, (mark) => {
        const drop = { cql: dropThread, params: [long(time), owner, mark.runId] };
        return session.write(drop, ...ownRuns.empty({ owner, agent }, mark, time));
      });
      return marks;
    },
  };
}
