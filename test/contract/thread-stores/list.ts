import { withCassandra } from './cassandra.ts';
import { withPostgres } from './postgres.ts';
import { withSqlite } from './sqlite.ts';
import type { WithStore } from './tested.ts';

interface ListedStore {
  /** The folder of `services/threads/adapters` that it is in. */
  readonly adapter: string;
  /** Whether it is in the process of its tests; else it is a server, which takes longer for the same. */
  readonly isEmbedded: boolean;
  readonly withStore: WithStore;
}

/** Every store of threads. Each suite of the contract runs on all of them. */
export const testedStores: readonly ListedStore[] = [
  { adapter: 'sqlite', isEmbedded: true, withStore: withSqlite },
  { adapter: 'cassandra', isEmbedded: false, withStore: withCassandra },
  { adapter: 'postgres', isEmbedded: false, withStore: withPostgres },
];
