import { randomBytes } from 'node:crypto';
import { Client, type ClientOptions } from 'cassandra-driver';
import { migrateCassandra } from '@agent-workflow/threads/adapters/cassandra/migrate';
import { openCassandraThreadStore } from '@agent-workflow/threads/adapters/cassandra/store';
import type { ThreadStore } from '@agent-workflow/threads/ports/store';
import type { Cassandra } from './cassandra.ts';

type StoreOptions = Parameters<typeof openCassandraThreadStore>[0];

/** A migrated keyspace of one's own on a real Cassandra; disposal drops it. */
export interface Keyspace extends AsyncDisposable {
  readonly options: StoreOptions;
  readonly open: (options?: Partial<StoreOptions>) => Promise<ThreadStore>;
}

export async function openKeyspace({ contactPoints, localDataCenter }: Cassandra): Promise<Keyspace> {
  const keyspace = `threads_${randomBytes(6).toString('hex')}`;
  const options = {
    ...{ contactPoints, localDataCenter, keyspace },
    ...{ requestTimeoutMs: 10_000, deadlineMs: 30_000, checkpointTtl: 0 },
  };
  await migrateCassandra({ ...options, replication: { [localDataCenter]: 1 }, waitMs: 30_000 });
  return {
    options,
    open: (more = {}) => openCassandraThreadStore({ ...options, ...more }),
    [Symbol.asyncDispose]: async () => {
      // Several who change the schema at once wait for each other.
      const socketOptions = { readTimeout: 60_000 };
      await using client = openClient({ contactPoints: [...contactPoints], localDataCenter, socketOptions });
      await client.execute(`DROP KEYSPACE ${keyspace}`);
    },
  };
}

/** A driver's client that is closed with its scope. */
export const openClient = (options: ClientOptions): Client & AsyncDisposable =>
  Object.assign(new Client(options), {
    async [Symbol.asyncDispose](this: Client) {
      await this.shutdown();
    },
  });
