import { auth, Client, errors, policies, types, type ClientOptions } from 'cassandra-driver';
import { unavailable } from '@agent-workflow/kit/errors';
import { refuseOldVersion } from '@agent-workflow/runtime/data-version';
import type { SentRequest } from '@agent-workflow/runtime/requests';
import { loadTls, type TlsFiles } from '@agent-workflow/runtime/tls-files';

export interface CassandraPlace {
  /** `host` or `host:port` each; one that answers is enough to find the others. */
  readonly contactPoints: readonly string[];
  readonly localDataCenter: string;
  readonly keyspace: string;
  readonly credentials?: { readonly username: string; readonly password: string };
  /** Present, even when empty: connections are encrypted and the server's certificate is checked. */
  readonly tls?: TlsFiles;
  /** How long one request waits for its answer, in milliseconds. */
  readonly requestTimeoutMs: number;
}

/** The store that is one keyspace of a cluster, as an operator reads it. */
export const storeName = (keyspace: string): string => `the keyspace ${keyspace} of Cassandra`;

export type Row = Readonly<Record<string, unknown>>;

export interface Statement {
  readonly cql: string;
  readonly params: readonly unknown[];
}

/** What is written before a change, together with other such statements. It stays when the change is then not written. */
export interface Announcement {
  readonly statements: readonly Statement[];
  readonly onWritten?: () => void;
}

interface Page {
  readonly rows: readonly Row[];
  /** Where the next page begins; absent on the last one. */
  readonly next?: string;
}

interface PageOptions {
  readonly rows: number;
  readonly from?: string | undefined;
}

/** One request to the server: for metrics, and for the table of costs. A conditional write may be lost. */
export interface SentStatement extends SentRequest<'read' | 'serial read' | 'write' | 'conditional write'> {
  readonly cql: string;
}

/**
 * How statements reach the server. All are prepared. Each fails with Unavailable while the server cannot be reached or is too slow to answer;
 * then a write may have taken effect, and may still do so.
 */
export interface Session extends AsyncDisposable {
  /** Sees every write that has resolved. */
  readonly read: (statement: Statement) => Promise<readonly Row[]>;
  /** Also completes what another conditional write left half done. */
  readonly readSerial: (statement: Statement) => Promise<readonly Row[]>;
  /** The clock of the node that answers, in milliseconds since 1970. */
  readonly readClock: () => Promise<number>;
  readonly readPage: (statement: Statement, page: PageOptions) => Promise<Page>;
  /** Writes that may be made twice, in one request; those of one partition take effect as one. */
  readonly write: (...statements: readonly Statement[]) => Promise<void>;
  /** Never made twice. `known` is the row that the condition met. */
  readonly writeIf: (
    ...statements: readonly Statement[]
  ) => Promise<{ readonly isApplied: boolean; readonly known: Row | undefined }>;
}

const { localQuorum, localSerial } = types.consistencies;

interface SessionOptions {
  /** The version of the schema that the keyspace must have, at least. */
  readonly version: number;
  /** Called with every request as it is sent. */
  readonly onRequest?: ((statement: SentStatement) => void) | undefined;
}

/** @throws Unavailable when no contact point answers, and while the keyspace has not been migrated; ConfigError when it is older than the first release. */
export async function openSession(place: CassandraPlace, { version, onRequest }: SessionOptions): Promise<Session> {
  const client = await connectMigrated(place, version);
  const execute = async ({ cql, params }: Statement, options: object): Promise<types.ResultSet> =>
    client.execute(cql, [...params], { prepare: true, isIdempotent: true, ...options }).catch(refuse);
  const sendAll = async (statements: readonly Statement[], options: object): Promise<types.ResultSet> => {
    const [first, ...others] = statements;
    if (first && others.length === 0) return execute(first, options);
    const queries = statements.map(({ cql, params }) => ({ query: cql, params: [...params] }));
    return client.batch(queries, { prepare: true, logged: false, isIdempotent: true, ...options }).catch(refuse);
  };
  const send = async (
    kind: SentStatement['kind'],
    statements: readonly Statement[],
    options: object,
  ): Promise<types.ResultSet> => {
    const sent = sendAll(statements, options);
    const [first] = statements;
    if (onRequest && first) onRequest({ kind, cql: first.cql, answered: outcomeOf(kind, sent) });
    return sent;
  };

  return {
    read: async (statement) => rowsOf(await send('read', [statement], { fetchSize: 0 })),
    readSerial: async (statement) =>
      rowsOf(await send('serial read', [statement], { fetchSize: 0, consistency: localSerial })),
    readClock: async () => {
      const [row] = rowsOf(await execute({ cql: selectClock, params: [] }, {}));
      return (row?.['now'] as Date).getTime();
    },
    readPage: async (statement, { rows, from }) => {
      const place = from === undefined ? {} : { pageState: from };
      const result = await send('read', [statement], { fetchSize: rows, ...place });
      // The driver's types do not say that the last page has none.
      const next = result.pageState as string | null;
      return { rows: rowsOf(result), ...(next === null ? {} : { next }) };
    },
    write: async (...statements) => {
      await send('write', statements, {});
    },
    writeIf: async (...statements) => {
      const result = await send('conditional write', statements, { isIdempotent: false, retry: neverAgain });
      const isApplied = result.wasApplied();
      return { isApplied, known: isApplied ? undefined : rowsOf(result)[0] };
    },
    [Symbol.asyncDispose]: async () => client.shutdown(),
  };
}

const selectClock = 'SELECT toTimestamp(now()) AS now FROM system.local';

const outcomeOf = async (kind: SentStatement['kind'], sent: Promise<types.ResultSet>): SentStatement['answered'] =>
  sent.then(
    (result) => (kind === 'conditional write' && !result.wasApplied() ? 'lost' : 'ok'),
    () => 'failed',
  );

/** For changes of the schema, which cannot be prepared. */
export interface SchemaSession extends AsyncDisposable {
  /** Reads, or writes what may be written twice. */
  readonly run: (statement: Statement) => Promise<readonly Row[]>;
  /** Resolves when all nodes have taken the change. */
  readonly alter: (cql: string) => Promise<void>;
  /** @returns whether the condition held. */
  readonly writeIf: (statement: Statement) => Promise<boolean>;
}

/** In the keyspace, or beside it while it is absent. @throws Unavailable when no contact point answers. */
export async function openSchemaSession(place: CassandraPlace, keyspace?: string): Promise<SchemaSession> {
  const client = await connect(place, keyspace === undefined ? {} : { keyspace });
  const send = async (cql: string, params: readonly unknown[], options: object): Promise<types.ResultSet> =>
    client.execute(cql, [...params], options).catch(refuse);
  return {
    run: async ({ cql, params }) => rowsOf(await send(cql, params, { prepare: true, isIdempotent: true })),
    alter: async (cql) => {
      // The driver's types leave this out.
      const { info } = (await send(cql, [], { retry: neverAgain, readTimeout: alterTimeoutMs })) as unknown as {
        readonly info: { readonly isSchemaInAgreement?: boolean };
      };
      if (info.isSchemaInAgreement !== true)
        throw unavailable('the nodes of the record do not agree on its schema yet');
    },
    writeIf: async ({ cql, params }) => (await send(cql, params, { prepare: true, retry: neverAgain })).wasApplied(),
    [Symbol.asyncDispose]: async () => client.shutdown(),
  };
}

/** All nodes take part in a change of the schema, one after another when several are made at once. */
const alterTimeoutMs = 60_000;

const neverAgain = new policies.retry.FallthroughRetryPolicy();

const selectVersion = 'SELECT version FROM schema_version WHERE id = 0';

/** A keyspace that is not migrated yet fails like a server that is unavailable: the caller tries again. */
async function connectMigrated(place: CassandraPlace, version: number): Promise<Client> {
  try {
    const client = await connect(place, { keyspace: place.keyspace });
    const known: unknown = await client.execute(selectVersion, [], { prepare: true, isIdempotent: true }).then(
      (result) => rowsOf(result)[0]?.['version'],
      () => undefined,
    );
    if (typeof known === 'number' && known >= version) return client;
    await client.shutdown();
    if (typeof known === 'number') refuseOldVersion(known, storeName(place.keyspace));
  } catch (error) {
    if (!(error instanceof errors.ResponseError)) throw error;
  }
  throw unavailable(
    `the record of threads has to be migrated to version ${version} first: "agent-workflow migrate" does it`,
  );
}

/** A host, with what the driver's types leave out. */
interface Stoppable {
  readonly shutdown: (waits: boolean) => Promise<void>;
}

/** A handshake is more than one request, and made seldom. */
const connectTimeoutMs = 5000;

const keepAliveMs = 5000;

/** After so many replies that never came, a connection is made anew. */
const lostReplies = 16;

async function connect(place: CassandraPlace, options: Pick<ClientOptions, 'keyspace'>): Promise<Client> {
  const { contactPoints, localDataCenter, credentials, tls, requestTimeoutMs } = place;
  const client = new Client({
    ...options,
    contactPoints: [...contactPoints],
    localDataCenter,
    ...(credentials && { authProvider: new auth.PlainTextAuthProvider(credentials.username, credentials.password) }),
    ...(tls && { sslOptions: await loadTls(tls) }),
    encoding: { useBigIntAsLong: true },
    queryOptions: { consistency: localQuorum, serialConsistency: localSerial },
    // The default waits up to ten minutes before it tries a host again.
    policies: { reconnection: new policies.reconnection.ExponentialReconnectionPolicy(100, 2000, false) },
    // The driver's heartbeat goes on for ever on a connection that broke while it was made: TCP keep-alive replaces it.
    pooling: { heartBeatInterval: 0 },
    socketOptions: {
      readTimeout: requestTimeoutMs,
      connectTimeout: connectTimeoutMs,
      keepAliveDelay: keepAliveMs,
      defunctReadTimeoutThreshold: lostReplies,
    },
  });
  searchOneAtATime(client);
  // When all hosts have been unavailable the driver puts new ones in their places, and lets the old ones try to connect for ever.
  client.on('hostRemove', (host: Stoppable) => void host.shutdown(false));
  try {
    await client.connect();
    return client;
  } catch (error) {
    await client.shutdown();
    return refuse(error instanceof errors.NoHostAvailableError ? withSetting(error) : error);
  }
}

/** That no node can be used, for the log: with the setting that the operator has to look at. */
function withSetting({ message, innerErrors }: errors.NoHostAvailableError): Error {
  const reasons = Object.values((innerErrors as Readonly<Record<string, unknown>> | undefined) ?? {});
  const setting = reasons.map(settingOf).find((found) => found !== undefined) ?? 'CASSANDRA_CONTACT_POINTS';
  return new Error(`${setting}: ${message}`);
}

/** The driver compares the data centre with those of the nodes once it has reached one. */
function settingOf(reason: unknown): string | undefined {
  if (reason instanceof errors.ArgumentError) return 'CASSANDRA_LOCAL_DATACENTER';
  if (reason instanceof errors.AuthenticationError) return 'CASSANDRA_USERNAME, CASSANDRA_PASSWORD';
  return undefined;
}

/** The driver's types do not say that what only writes has none. */
const rowsOf = ({ rows = [] }: { readonly rows?: readonly Row[] }): readonly Row[] => rows;

/** From this code on the server has understood the request and refuses it as wrong: a fault of ours. */
const firstCodeOfMisuse = 0x2000;

/** The one place that knows the driver's errors: what may pass becomes Unavailable, what is our fault is thrown as it is. */
function refuse(error: unknown): never {
  const isMisuse =
    (error instanceof errors.ResponseError && error.code >= firstCodeOfMisuse) ||
    error instanceof errors.ArgumentError ||
    error instanceof TypeError;
  // A socket's errors come as they are, of no class of the driver's.
  if (isMisuse) throw error;
  throw unavailable('the record of threads is unavailable for now', error);
}

/** The part of the driver's control connection that its types leave out. */
interface Control {
  _refresh: (hosts?: unknown) => Promise<void>;
}

/** The pause after a failed search, in milliseconds. */
const retryMs = 1000;

/**
 * Makes the driver search for a new control connection one search at a time. When connections break in quick succession it begins
 * several such searches; they close each other's connection, and the resulting uncaught error would end the
 * process.
 */
function searchOneAtATime(client: Client): void {
  // The driver's types leave its own fields out.
  const { controlConnection: control } = client as unknown as { readonly controlConnection: Control };
  const refresh = control._refresh.bind(control);
  let search: Promise<void> | undefined;
  const later = (): void => {
    setTimeout(() => void control._refresh(), retryMs).unref();
  };
  control._refresh = (hosts) => {
    // With hosts it is the same search that goes on.
    if (hosts !== undefined) return refresh(hosts);
    search ??= refresh()
      .catch(later)
      .finally(() => {
        search = undefined;
      });
    return search;
  };
}
