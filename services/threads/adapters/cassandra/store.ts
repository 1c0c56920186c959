import { randomUUID } from 'node:crypto';
import { isServiceError, unavailable } from '@agent-workflow/kit/errors';
import { retry } from '@agent-workflow/kit/retry';
import { newestVersion } from '@agent-workflow/runtime/data-version';
import type { ThreadKey } from '../../ports/record.ts';
import type { ThreadStore } from '../../ports/store.ts';
import { betweenTries, createLines, createMakeChange } from './change/change.ts';
import {
  openSession,
  type SentStatement,
  type CassandraPlace,
  type Statement,
  type Session,
  type Row,
} from './client/client.ts';
import { createFiles } from './files.ts';
import { createHistory } from './reads.ts';
import type { Plan, SegmentSizes } from './change/plan.ts';
import { createRecent } from './change/recent.ts';
import { purge } from './purge.ts';
import { createReading } from './reads.ts';
import { createResources, finalStatement } from './resources.ts';
import { createAllRuns } from './lists/all-runs.ts';
import { createOwnRuns } from './lists/own-runs.ts';
import { createRecency } from './lists/recency.ts';
import { createRollOver } from './rollover.ts';
import { createRuns } from './runs.ts';
import { chunksOf, mapConcurrently } from './rows/log.ts';
import { openServerClock } from '../../record/server-clock.ts';
import { migrations } from './rows/schema.ts';
import { readHead } from './change/snapshot.ts';
import { createSweeps } from './sweeps/sweeps.ts';
import { createTicks } from './rows/times.ts';
import type { AgentRecords, DefinitionKey } from '../../ports/agents.ts';
import { fromAgent, fromDefinition, toAgent, toDefinition, toRoutings } from '../../record/agent-rows.ts';
import { long, toBlob, toReply } from './rows/rows.ts';
import type { IdempotencyRecord, IdempotencyRecords, NewIdempotencyRecord } from '../../ports/idempotency.ts';

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
  const now = await openServerClock(session.readClock);
  const tick = createTicks(now);
  const newStamp = randomUUID;
  const { hold, aside, close } = createHolds(onError);
  const inLine = createLines();

  const ownRuns = createOwnRuns({ session, now });
  const allRuns = createAllRuns({ session, now });
  const runs = createRuns(session, {
    empty: (thread, mark, time) => [...ownRuns.empty(thread, mark, time), allRuns.empty(thread.owner, mark, time)],
  });
  const reading = createReading({ session, deadlineMs });
  const history = createHistory(session);
  const recency = createRecency({ session, now, aside });
  const rollOver = createRollOver({ session, sizes, newStamp, inLine });
  const requests = createIdempotency({ session, newStamp, deadlineMs });
  const agents = createAgentRecords(session);
  const resources = createResources({ session, now, deadlineMs, aside });
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
        ...allRuns.announce(key, plan.newRuns),
        ...sweeps.announce(key, plan),
        ...(isListed ? [recency.announce(key.owner, plan.head)] : []),
      ];
      const statements = notes.flatMap((note) => note.statements);
      if (statements.length > 0) await session.write(...statements);
      for (const { onWritten } of notes) onWritten?.();
      const { finals = [], others = [] } = Object.groupBy(plan.resources, (write) =>
        write.isFinal ? 'finals' : 'others',
      );
      await Promise.all([writeAll(finals.map(finalStatement)), ...others.map((write) => resources.putResource(write))]);
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
    now,
    change: (key, reads, decide) => hold(() => change(key, reads, decide)),
    getHead: (key) => hold(() => reading.getHead(key)),
    getState: (key, maxBytes) => hold(() => reading.getState(key, maxBytes)),
    getFields: (key, names) => hold(() => reading.getFields(key, names)),
    getRun: (owner, runId) => hold(() => runs.get(owner, runId)),
    listRuns: (key, page) => hold(() => runs.list(key, page)),
    listOwnRuns: (owner, page) => hold(() => ownRuns.list(owner, page)),
    listAllRuns: (page) => hold(() => allRuns.list(page)),
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
    listTraces: (key, range) => hold(() => history.listTraces(key, range)),
    getMessage: (key, messageId) => hold(() => reading.getMessage(key, messageId)),
    listOpenRuns: (page) => hold(() => sweeps.listOpenRuns(page)),
    listSleepingRuns: (page) => hold(() => sweeps.listSleepingRuns(page)),
    listIdle: (times, limit) => hold(() => sweeps.listIdle(times, limit)),
    listDeleting: (limit) => hold(() => sweeps.listDeleting(limit)),
    beginRequest: (owner, key, record) => hold(() => requests.beginRequest(owner, key, record)),
    endRequest: (owner, key, reply) => hold(() => requests.endRequest(owner, key, reply)),
    expireRequests: requests.expireRequests,
    getFile: (key) => hold(() => files.getFile(key)),
    changeFile: (key, reads, decide) => hold(() => files.changeFile(key, reads, decide)),
    listOwnFiles: (owner, page) => hold(() => files.listOwnFiles(owner, page)),
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
    getResource: (key) => hold(() => resources.getResource(key)),
    putResource: (write) => hold(() => resources.putResource(write)),
    deleteResource: (key, version) => hold(() => resources.deleteResource(key, version)),
    listResources: (of, page) => hold(() => resources.listResources(of, page)),
    listResourceMarks: (of, page) => hold(() => resources.listResourceMarks(of, page)),
    countResources: (of, atMost) => hold(() => resources.countResources(of, atMost)),
    listDueResources: (kind, page) => hold(() => resources.listDueResources(kind, page)),
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

/** All agents are in one partition: there are few, and they are listed together. */
const registry = 0;

const ofAgent = 'WHERE registry = ? AND name = ?';
const columnsOfAgent = 'name, changes, routing, rest';
const insertAgent = `INSERT INTO agent (registry, ${columnsOfAgent}) VALUES (?, ?, ?, ?, ?) IF NOT EXISTS`;
const updateAgent = `UPDATE agent SET changes = ?, routing = ?, rest = ? ${ofAgent} IF changes = ?`;
const ofDefinition = 'WHERE agent = ? AND revision = ? AND schema_hash = ?';

/** The registered agents. A row of `agent` is written by conditional writes only. */
const createAgentRecords = (session: Session): AgentRecords => ({
  // A conditional write whose answer was lost may be half done: what reads a row to change it completes such a write first.
  getAgent: async (name) => {
    const params = [registry, name];
    const [row] = await session.readSerial({ cql: `SELECT ${columnsOfAgent} FROM agent ${ofAgent}`, params });
    return row && toAgent(row);
  },

  listAgents: async () =>
    (await session.read({ cql: `SELECT ${columnsOfAgent} FROM agent WHERE registry = ?`, params: [registry] })).map(
      toAgent,
    ),

  listRoutings: async () =>
    toRoutings(await session.read({ cql: 'SELECT name, routing FROM agent WHERE registry = ?', params: [registry] })),

  putAgent: async (agent) => {
    const { name, changes, routing, rest } = fromAgent(agent);
    const { isApplied } = await session.writeIf(
      changes === 1
        ? { cql: insertAgent, params: [registry, name, long(changes), routing, rest] }
        : { cql: updateAgent, params: [long(changes), routing, rest, registry, name, long(changes - 1)] },
    );
    return isApplied;
  },

  getDefinition: async (key) => {
    const cql = `SELECT graph, fields, tools, nodes FROM agent_definition ${ofDefinition}`;
    const [row] = await session.read({ cql, params: valuesOf(key) });
    return row && toDefinition(row);
  },

  putDefinition: async (key, definition) => {
    const [graph, fields, tools, nodes] = fromDefinition(definition);
    await session.write({
      cql: `INSERT INTO agent_definition (agent, revision, schema_hash, graph, fields, tools, nodes) VALUES (?, ?, ?, ?, ?, ?, ?)`,
      params: [...valuesOf(key), toBlob(graph), toBlob(fields), toBlob(tools), nodes],
    });
  },

  dropDefinition: async (key) =>
    session.write({ cql: `DELETE FROM agent_definition ${ofDefinition}`, params: valuesOf(key) }),
});

const valuesOf = ({ agent, revision, schemaHash }: DefinitionKey): readonly string[] => [agent, revision, schemaHash];

interface IdempotencyOptions {
  readonly session: Session;
  readonly newStamp: () => string;
  readonly deadlineMs: number;
}

/** Seconds that a request and its reply are remembered: the request a little longer than it must be, so that no reply outlasts it. */
const keptSeconds = 25 * 3600;
const replyKeptSeconds = 24 * 3600;

/** In place of an attempt: the request that had the key has released it. */
const released = '00000000-0000-0000-0000-000000000000';

const columnsOfRequest = 'owner, key, attempt, body_hash, at, reply';
const putRecord = `INSERT INTO once (${columnsOfRequest}) VALUES (?, ?, ?, ?, ?, ?) IF NOT EXISTS USING TTL ${keptSeconds}`;
const putReply = `UPDATE once USING TTL ${replyKeptSeconds} SET reply = ? WHERE owner = ? AND key = ? IF EXISTS`;
const ofRequestKey = 'WHERE owner = ? AND key = ?';
const releaseKey = `UPDATE once USING TTL ${keptSeconds} SET attempt = ${released} ${ofRequestKey} IF reply = ?`;
const takeKey = `UPDATE once USING TTL ${keptSeconds} SET attempt = ?, body_hash = ?, at = ?, reply = ? ${ofRequestKey} IF attempt = ${released}`;

/** Idempotent requests; the server forgets them by their TTL. */
function createIdempotency(options: IdempotencyOptions): IdempotencyRecords {
  const { session, newStamp } = options;

  /** What stands under the key; `undefined` when it stands there for this very attempt. */
  const begin = async (owner: string, key: string, record: Beginning): Promise<IdempotencyRecord | undefined> => {
    const { attempt, bodyHash, at, reply } = record;
    const rest = [bodyHash, long(at), toBlob(reply)];
    const { known } = await session.writeIf({ cql: putRecord, params: [owner, key, attempt, ...rest] });
    if (!known || String(known['attempt']) === attempt) return undefined;
    if (String(known['attempt']) !== released || known['body_hash'] !== bodyHash) return toRecord(known);
    const { known: other } = await session.writeIf({ cql: takeKey, params: [attempt, ...rest, owner, key] });
    if (!other || String(other['attempt']) === attempt) return undefined;
    return toRecord({ ...known, reply: undefined });
  };

  return {
    beginRequest: (owner, key, record) => {
      // A call whose answer was lost finds its own attempt when it is made again.
      const attempt = record.attempt !== undefined && uuid.test(record.attempt) ? record.attempt : newStamp();
      return again(options, () => begin(owner, key, { ...record, attempt: attempt.toLowerCase() }));
    },
    endRequest: (owner, key, reply) =>
      again(options, async () => {
        const statement = reply
          ? { cql: putReply, params: [toBlob(reply), owner, key] }
          : { cql: releaseKey, params: [owner, key, toBlob(undefined)] };
        await session.writeIf(statement);
      }),
    expireRequests: () => Promise.resolve(),
  };
}

type Beginning = NewIdempotencyRecord & { readonly attempt: string };

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

const toRecord = (row: Row): IdempotencyRecord => ({
  bodyHash: row['body_hash'] as string,
  at: Number(row['at']),
  ...toReply(row),
});

/** Each write comes out the same when it is made twice. */
const again = <T>({ deadlineMs }: IdempotencyOptions, work: () => Promise<T>): Promise<T> =>
  retry(work, {
    ...betweenTries,
    deadline: Date.now() + deadlineMs,
    mayHelp: (error) => isServiceError(error, 'Unavailable'),
  });

/** The writes of lists by recency that are under way and that no caller waits for. */
interface Refreshes {
  readonly add: (owner: string, work: () => Promise<void>) => Promise<void>;
  /** Resolves when the owner's writes under way have settled: a reader of this process sees every change made before. */
  readonly settled: (owner: string) => Promise<void>;
}

function createRefreshes(): Refreshes {
  const byOwner = new Map<string, Set<Promise<void>>>();
  return {
    add: async (owner, work) => {
      const mine = byOwner.get(owner) ?? new Set();
      byOwner.set(owner, mine);
      const writing = work();
      mine.add(writing);
      try {
        await writing;
      } finally {
        mine.delete(writing);
        if (mine.size === 0) byOwner.delete(owner);
      }
    },
    settled: async (owner) => {
      await Promise.allSettled([...(byOwner.get(owner) ?? [])]);
    },
  };
}
