import { unavailable } from '@agent-workflow/kit/errors';
import { createKeyedLock } from '@agent-workflow/kit/keyed-lock';
import { newestVersion, refuseOldVersion } from '@agent-workflow/runtime/data-version';
import type { ThreadChanges } from '../../ports/changes.ts';
import type { ThreadStore } from '../../ports/store.ts';
import { createAgentRecords } from './agents.ts';
import { applyChange } from './change.ts';
import { openSession, type Session, type SessionOptions } from './client.ts';
import type { PostgresReach } from './connections.ts';
import { createFiles } from './files.ts';
import { createIdempotency } from './idempotency.ts';
import { createLists } from './lists.ts';
import { createReads } from './reads.ts';
import { migrations, storeName } from './schema.ts';
import { lockThread } from './snapshot.ts';
import { createSweeps } from './sweeps.ts';

type PostgresThreadStoreOptions = PostgresReach & SessionOptions;

/**
 * Opens the record on a PostgreSQL server whose schema has been migrated. Every write is on the server's disk when it resolves.
 * Disposal waits for what is under way.
 * @throws Unavailable when the server does not answer, and while the schema is not there; ConfigError when it is older than the first release.
 */
export async function openPostgresThreadStore(options: PostgresThreadStoreOptions): Promise<ThreadStore> {
  await using opening = new AsyncDisposableStack();
  const session = opening.use(await openSession(options, options));
  await requireSchema(session, options.schema);
  const work = createWork();
  const store = {
    change: createChange(session),
    ...createReads(session),
    ...createLists(session),
    ...createSweeps(session),
    ...createIdempotency(session),
    ...createFiles(session),
    ...createAgentRecords(session),
  };
  opening.move();
  return {
    ...(Object.fromEntries(
      Object.entries(store).map(([name, method]) => [name, work.counted(method as Method)]),
    ) as typeof store),
    [Symbol.asyncDispose]: async () => {
      await work.close();
      await session[Symbol.asyncDispose]();
    },
  };
}

/** @throws Unavailable until the schema has this version. */
async function requireSchema({ query }: Session, schema: string): Promise<void> {
  const [table] = await query("SELECT to_regclass('schema_version') IS NOT NULL AS is_there");
  const [row] = table?.['is_there'] === true ? await query('SELECT version FROM schema_version') : [];
  const version = (row?.['version'] as number | undefined) ?? 0;
  refuseOldVersion(version, storeName(schema));
  const needed = newestVersion(migrations);
  if (version < needed)
    throw unavailable(
      `the record of threads has to be migrated to version ${String(needed)} first: "agent-workflow migrate" does it`,
    );
}

/**
 * Changes a thread in one transaction that holds the lock of its row. Changes that this process makes of one thread are made one after
 * another, so that they do not take a connection each to wait for the same lock.
 */
function createChange({ transaction }: Session): ThreadChanges['change'] {
  const lock = createKeyedLock();
  return async (key, reads, decide) => {
    const { refusal, reply } = await lock(JSON.stringify([key.owner, key.threadId]), () =>
      transaction(async (tx) => {
        const { found, snapshot } = await lockThread(tx, key, reads);
        const { decision, refusal } = conclude(() => decide(snapshot));
        if (!decision?.change) return { isWritten: false, reply: { refusal, reply: decision?.reply } };
        await applyChange(tx, found, key, decision.change);
        return { isWritten: true, reply: { refusal, reply: decision.reply } };
      }),
    );
    if (refusal) throw refusal.error;
    return reply as Awaited<ReturnType<typeof decide>>['reply'];
  };
}

interface Conclusion<T> {
  readonly decision?: T;
  /** What the decision threw. It is thrown by the change, and never taken for an error of the server. */
  readonly refusal?: { readonly error: unknown };
}

function conclude<T>(decide: () => T): Conclusion<T> {
  try {
    return { decision: decide() };
  } catch (error) {
    return { refusal: { error } };
  }
}

type Method = (...args: readonly never[]) => Promise<unknown>;

interface UnderWay {
  /** The method, which counts as under way until it has settled. It throws Unavailable once the store is closed. */
  readonly counted: (method: Method) => Method;
  /** Resolves when all that is under way has settled. */
  readonly close: () => Promise<void>;
}

function createWork(): UnderWay {
  const underWay = new Set<Promise<unknown>>();
  let isClosed = false;
  return {
    counted:
      (method) =>
      async (...args) => {
        if (isClosed) throw unavailable('the record of threads is closed');
        const going = method(...args);
        const settled: Promise<unknown> = going.catch(() => undefined).finally(() => underWay.delete(settled));
        underWay.add(settled);
        return going;
      },
    close: async () => {
      isClosed = true;
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };
}
