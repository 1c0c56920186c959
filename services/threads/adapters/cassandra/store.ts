import { randomUUID } from 'node:crypto';
import { isServiceError, unavailable } from '@agent-workflow/kit/errors';
import { retry } from '@agent-workflow/kit/retry';
import { newestVersion } from '@agent-workflow/runtime/data-version';
import type { ThreadKey } from '../../ports/record.ts';
import type { ThreadStore } from '../../ports/store.ts';
import { createAgentRecords } from './agents.ts';
import { betweenTries, createLines, createMakeChange } from './change/change.ts';
import { openSession, type SentStatement, type CassandraPlace, type Statement } from './client/client.ts';
import { createFiles } from './files.ts';
import { createHistory } from './history.ts';
import { createIdempotency } from './idempotency.ts';
import type { Plan, SegmentSizes } from './change/plan.ts';
import { createRecent } from './change/recent.ts';
import { purge } from './purge.ts';
import { createReading } from './reads.ts';
import { createOwnRuns } from './lists/own-runs.ts';
import { createRecency } from './lists/recency.ts';
import { createRefreshes } from './lists/refreshes.ts';
import { createRollOver } from './rollover.ts';
import { createRuns } from './runs.ts';
import { chunksOf, mapConcurrently } from './rows/log.ts';
import { migrations } from './rows/schema.ts';
import { readHead } from './change/snapshot.ts';
import { createSweeps } from './sweeps/sweeps.ts';
import { createTicks } from './rows/times.ts';

interface CassandraThreadStoreOptions extends CassandraPlace {
  /** How long one call is tried, in milliseconds, when its outcome is in doubt or others write the same thread. */
  readonly deadlineMs: number;
  /** Seconds after which a checkpoint is gone; 0 is never. */
  readonly checkpointTtl: number;
  /** How logs made from now on are cut; the usual sizes unless a test sets others. */
  readonly sizes?: SegmentSizes;
  /** Called with every request to the server. */
  readonly onRequest?: (asked: SentStatement) => void;
  /** Called with what failed beside a call that has been answered; a later write or sweep repairs it. */
  readonly onError?: (error: unknown) => void;
}

const usualSizes: SegmentSizes = { width: 512, maxRows: 4096, maxBytes: 16 * 1024 * 1024, keptRows: 1024 };

/**
 * Opens the record on a Cassandra cluster whose keyspace has been migrated. Every write is held by a quorum of the local data
 * centre when it resolves. Disposal waits for what is under way.
 * @throws Unavailable when no contact point answers, and while the schema is not there; ConfigError when it is older than the first release.
 */
export async function openCassandraThreadStore(options: CassandraThreadStoreOptions): Promise<ThreadStore> {
  const { deadlineMs, checkpointTtl, sizes = usualSizes, onRequest, onError = ignore } = options;
  const session = await openSession(options, { version: newestVersion(migrations), onRequest });
  const now = Date.now;
  const tick = createTicks(now);
  const newStamp = randomUUID;
  const { hold, aside, close } = createHolds(onError);
  const inLine = createLines();

  const ownRuns = createOwnRuns({ session, now });
  const runs = createRuns(session, ownRuns);
  const reading = createReading({ session, deadlineMs });
  const history = createHistory(session);
  const recency = createRecency({ session, now, aside });
  const rollOver = createRollOver({ session, sizes, newStamp, inLine });
  const requests = createIdempotency({ session, newStamp, deadlineMs });
  const agents = createAgentRecords(session);
  const files = createFiles({ session, now, newStamp, inLine, deadlineMs, aside });
  const sweeps = createSweeps({ session, now, readHead: (key) => readHead(session, key), readRun: runs.getRowOf });

  const refreshes = createRefreshes();
  const putInList = async (key: ThreadKey, { head, layout, listing }: Plan): Promise<void> =>
    listing === 'drop' ? recency.drop(key, layout) : recency.put(key, head, layout);
  const writeAll = async (statements: readonly Statement[]): Promise<void> => {
    await mapConcurrently(chunksOf(statements, mostBeside), (some) => session.write(...some));
  };

  const change = createMakeChange({
    ...{ session, inLine, deadlineMs, sizes, checkpointTtl, tick, newStamp, recent: createRecent() },
    ahead: (key, { newRun }) => (newRun ? runs.readAhead(key.owner, newRun).catch(() => undefined) : nothingAhead),
    before: async (key, plan, ahead) => {
      const isListed = plan.listing === 'put' || plan.listing === 'refresh';
      const notes = [
        await runs.announce(key, plan.newRuns, ahead),
        ...ownRuns.announce(key, plan),
        ...sweeps.announce(key, plan),
        ...(isListed ? [recency.announce(key.owner, plan.head)] : []),
      ];
      const statements = notes.flatMap((note) => note.statements);
      if (statements.length > 0) await session.write(...statements);
      for (const { onWritten } of notes) onWritten?.();
    },
    after: async (key, plan) => {
      if (rollOver.isDue(plan.layout) && !plan.head.deleting) aside(() => rollOver.roll(key));
      const over = sweeps.conclude(key, plan);
      const isSmall = over.length <= mostBeside && (plan.head.metadata?.byteLength ?? 0) <= mostBytesBeside;
      const beside = plan.listing === 'refresh' && isSmall ? over : [];
      if (over.length > beside.length) aside(() => writeAll(over));
      if (plan.listing === 'none') return;
      if (plan.listing === 'refresh') {
        const put = (): Promise<void> => recency.put(key, plan.head, plan.layout, beside);
        aside(() => refreshes.add(key.owner, put).catch(() => insist(put)));
        return;
      }
      try {
        await putInList(key, plan);
      } catch (error) {
        // A deletion fails when its list row cannot be removed; any other change succeeds, and its list row is written later.
        if (plan.listing === 'drop') throw error;
        aside(() => insist(() => putInList(key, plan)));
      }
    },
  });

  return {
    change: (key, reads, decide) => hold(() => change(key, reads, decide)),
    getHead: (key) => hold(() => reading.getHead(key)),
    getState: (key, maxBytes) => hold(() => reading.getState(key, maxBytes)),
    getFields: (key) => hold(() => reading.getFields(key)),
    getRun: (owner, runId) => hold(() => runs.get(owner, runId)),
    listRuns: (key, page) => hold(() => runs.list(key, page)),
    listOwnRuns: (owner, page) => hold(() => ownRuns.list(owner, page)),
    listThreads: (owner, page) =>
      hold(async () => {
        await refreshes.settled(owner);
        return recency.list(owner, page);
      }),
    listMessages: (key, page) => hold(() => reading.listMessages(key, page)),
    listContext: (key, page) => hold(() => reading.listContext(key, page)),
    getEntries: (key, positions) => hold(() => reading.getEntries(key, positions)),
    listCheckpoints: (key, page) => hold(() => history.listCheckpoints(key, page)),
    listUndos: (key, page) => hold(() => history.listUndos(key, page)),
    getMessage: (key, messageId) => hold(() => reading.getMessage(key, messageId)),
    listOpenRuns: (page) => hold(() => sweeps.listOpenRuns(page)),
    listSleepingRuns: (page) => hold(() => sweeps.listSleepingRuns(page)),
    listIdle: (time, limit) => hold(() => sweeps.listIdle(time, limit)),
    listDeleting: (limit) => hold(() => sweeps.listDeleting(limit)),
    beginRequest: (owner, key, record) => hold(() => requests.beginRequest(owner, key, record)),
    endRequest: (owner, key, reply) => hold(() => requests.endRequest(owner, key, reply)),
    expireRequests: requests.expireRequests,
    getFile: (key) => hold(() => files.getFile(key)),
    changeFile: (key, reads, decide) => hold(() => files.changeFile(key, reads, decide)),
    listDueFiles: (page) => hold(() => files.listDueFiles(page)),
    putFileNote: (key, note) => hold(() => files.putFileNote(key, note)),
    dropFileNote: (key, threadId) => hold(() => files.dropFileNote(key, threadId)),
    listFileNotes: (key, page) => hold(() => files.listFileNotes(key, page)),
    listFilesOf: (key, page) => hold(() => files.listFilesOf(key, page)),
    getAgent: (name) => hold(() => agents.getAgent(name)),
    listAgents: () => hold(() => agents.listAgents()),
    listRoutings: () => hold(() => agents.listRoutings()),
    putAgent: (row) => hold(() => agents.putAgent(row)),
    getDefinition: (key) => hold(() => agents.getDefinition(key)),
    putDefinition: (key, definition) => hold(() => agents.putDefinition(key, definition)),
    dropDefinition: (key) => hold(() => agents.dropDefinition(key)),
    // The server drops each by its age.
    expireCheckpoints: () => Promise.resolve(0),
    purge: (key) => hold(() => purge({ session, runs, ownRuns, recency, tick, deadlineMs, aside }, key)),
    [Symbol.asyncDispose]: async () => {
      await close();
      await session[Symbol.asyncDispose]();
    },
  };
}

const ignore = (): void => undefined;

/**
 * Statements of other partitions that go with a row of the list, and how many bytes that may have: a request for several partitions is
 * refused above 50 KiB, and warned of above 5 (`batch_size_fail_threshold`, `batch_size_warn_threshold`), one for a single partition is not.
 */
const mostBeside = 8;
const mostBytesBeside = 2048;

const nothingAhead = Promise.resolve(undefined);

/** How long a background write is tried, in milliseconds. */
const insistMs = 60_000;

/** Tries again while the server is unavailable. */
const insist = (work: () => Promise<void>): Promise<void> =>
  retry(work, {
    ...betweenTries,
    deadline: Date.now() + insistMs,
    mayHelp: (error) => isServiceError(error, 'Unavailable'),
  });

interface Holds {
  /** Runs work that a caller waits for. @throws Unavailable once closed. */
  readonly hold: <T>(work: () => Promise<T>) => Promise<T>;
  /** Runs work in the background; its failure goes to `onError`. */
  readonly aside: (work: () => Promise<void>) => void;
  /** Resolves when all of it has settled. */
  readonly close: () => Promise<void>;
}

function createHolds(onError: (error: unknown) => void): Holds {
  const underWay = new Set<Promise<unknown>>();
  let isClosed = false;
  const keep = <T>(work: () => Promise<T>): Promise<T> => {
    const going = work();
    const settled = going.catch(() => undefined).finally(() => underWay.delete(settled));
    underWay.add(settled);
    return going;
  };
  return {
    hold: async (work) => {
      if (isClosed) throw unavailable('the record of threads is closed');
      return keep(work);
    },
    aside: (work) => void keep(work).catch(onError),
    close: async () => {
      isClosed = true;
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };
}
