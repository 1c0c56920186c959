import { openSqlite, type Sqlite, type SqliteOptions } from '@agent-workflow/runtime/sqlite/sqlite';
import type { Decision, Reads, Snapshot, ThreadChanges } from '../../ports/changes.ts';
import type { ThreadKey } from '../../ports/record.ts';
import type { ThreadStore } from '../../ports/store.ts';
import { createAgentRecords } from './agents.ts';
import { applyChange } from './change.ts';
import { createFiles } from './files.ts';
import { createIdempotency } from './idempotency.ts';
import { createLists } from './lists.ts';
import { createReads } from './reads.ts';
import { migrations } from './schema.ts';
import { emptySnapshot, findThread, toSnapshot } from './snapshot.ts';
import { createSweeps } from './sweeps.ts';

/** A turn changes some thirty pages, in each a row or two. */
const pageBytes = 1024;

/** Opens the record in one SQLite file (`:memory:` keeps nothing). Every write is on disk when it resolves. */
export function openSqliteThreadStore({ path, health }: Pick<SqliteOptions, 'path' | 'health'>): ThreadStore {
  const db = openSqlite({ path, durability: 'full', migrations, pageBytes, health });
  return {
    ...createChanges(db),
    ...createReads(db),
    ...createLists(db),
    ...createSweeps(db),
    ...createIdempotency(db),
    ...createFiles(db),
    ...createAgentRecords(db),
    [Symbol.asyncDispose]: () => {
      db[Symbol.dispose]();
      return Promise.resolve();
    },
  };
}

/** Changes of threads, each in a savepoint of the transaction that is written next. */
const createChanges = (db: Sqlite): ThreadChanges => ({
  change: (key, reads, decide) =>
    db.write(() => {
      const made = reads.isNewThread ? makeThread(db, key, decide) : undefined;
      return made ? made.reply : changeFound(db, key, reads, decide);
    }),
});

/** Makes the thread without a look whether it is there; `undefined` when it is, or when that may decide. */
function makeThread<T>(
  db: Sqlite,
  key: ThreadKey,
  decide: (snapshot: Snapshot) => Decision<T>,
): Decision<T> | undefined {
  let decision: Decision<T>;
  try {
    decision = decide(emptySnapshot);
  } catch {
    return undefined;
  }
  return decision.change && applyChange(db, undefined, key, decision.change) ? decision : undefined;
}

function changeFound<T>(db: Sqlite, key: ThreadKey, reads: Reads, decide: (snapshot: Snapshot) => Decision<T>): T {
  const found = findThread(db, key, reads);
  const { change, reply } = decideFrom(decide, reads, (read) => toSnapshot(db, found, key, read));
  if (change) applyChange(db, found, key, change);
  return reply;
}

/** A fence refuses a request that was applied before: only then is it looked for among those. */
function decideFrom<T>(
  decide: (snapshot: Snapshot) => Decision<T>,
  { request, ...reads }: Reads,
  snapshotOf: (reads: Reads) => Snapshot,
): Decision<T> {
  const all = { ...reads, ...(request !== undefined && { request }) };
  try {
    return decide(snapshotOf(reads.isFenced ? reads : all));
  } catch (error) {
    if (!reads.isFenced) throw error;
    return decide(snapshotOf(all));
  }
}
