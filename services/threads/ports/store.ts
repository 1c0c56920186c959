import type { AgentRecords } from './agents.ts';
import type { ThreadChanges } from './changes.ts';
import type { FileRecords } from './files.ts';
import type { ThreadHistory } from './history.ts';
import type { IdempotencyRecords } from './idempotency.ts';
import type { ThreadLists } from './lists.ts';
import type { ThreadReads } from './reads.ts';
import type { ResourceRecords } from './resources.ts';
import type { ThreadSweeps } from './sweeps.ts';

/**
 * All ports of the record, as one adapter implements them. Only what opens a store asks for all of them; every other function
 * takes the ports that it needs. A promise that resolves speaks of something durable, and reads see every write that has
 * resolved.
 */
export interface ThreadStore
  extends
    ThreadChanges,
    ThreadReads,
    ThreadLists,
    ThreadHistory,
    ThreadSweeps,
    IdempotencyRecords,
    FileRecords,
    AgentRecords,
    ResourceRecords,
    AsyncDisposable {
  /** The clock of the store, in milliseconds since 1970: the same for all processes that share it, whatever their own clocks show. */
  readonly now: () => number;
}
