import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { migratePostgres } from '@agent-workflow/threads/adapters/postgres/migrate';
import { openPostgresThreadStore } from '@agent-workflow/threads/adapters/postgres/store';
import type { ThreadStore } from '@agent-workflow/threads/ports/store';
import type { Postgres } from './postgres.ts';

type StoreOptions = Parameters<typeof openPostgresThreadStore>[0];

/** A migrated schema of one's own on a real PostgreSQL; disposal drops it. */
export interface Schema extends AsyncDisposable {
  readonly options: StoreOptions;
  readonly open: (options?: Partial<StoreOptions>) => Promise<ThreadStore>;
}

export const newSchemaName = (): string => `threads_${randomBytes(6).toString('hex')}`;

export async function openSchema({ host, port, username, password, database }: Postgres): Promise<Schema> {
  const options = {
    ...{ host, port, username, database, schema: newSchemaName(), connections: 4 },
    ...(password !== undefined && { password }),
    ...{ requestTimeoutMs: 20_000, deadlineMs: 40_000 },
  };
  await migratePostgres({ ...options, waitMs: 60_000 });
  return {
    options,
    open: (more = {}) => openPostgresThreadStore({ ...options, ...more }),
    [Symbol.asyncDispose]: () => dropSchemas([options]),
  };
}

/** Drops schemas of one database in one statement: dropping them one after another takes longer than a server waits for its users. */
export async function dropSchemas(all: readonly StoreOptions[]): Promise<void> {
  const [first] = all;
  if (!first) return;
  await using client = await openClient(first);
  await client.query(`DROP SCHEMA ${all.map(({ schema }) => schema).join(', ')} CASCADE`);
}

type Reach = Pick<StoreOptions, 'host' | 'port' | 'username' | 'password' | 'database' | 'schema'>;

/** A driver's client whose statements are about the schema, and that is closed with its scope. */
export async function openClient({
  host,
  port,
  username,
  password,
  database,
  schema,
}: Reach): Promise<Client & AsyncDisposable> {
  const options = `-c search_path=${schema}`;
  const client = new Client({ host, port, user: username, password: password ?? '', database, options });
  client.on('error', () => undefined);
  await client.connect();
  return Object.assign(client, {
    async [Symbol.asyncDispose](this: Client) {
      await this.end();
    },
  });
}
