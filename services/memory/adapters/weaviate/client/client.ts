import type { WeaviateClient, BatchDeleteResponse, WeaviateObject, WhereFilter } from 'weaviate-ts-client';
import { readFingerprint } from './fingerprint.ts';
import type {
  Weaviate,
  WeaviateConnection,
  FoundObject,
  NewObject,
  ObjectRequests,
  SchemaRequests,
} from './weaviate.ts';
import { unavailable, isServiceError, ServiceError } from '@agent-workflow/kit/errors';
import { retry } from '@agent-workflow/kit/retry';

type WeaviateOptions = WeaviateConnection & SendOptions;

/** Loads the library, so that a process without Weaviate never loads it. It sends no request. */
export async function createWeaviate(options: WeaviateOptions): Promise<Weaviate> {
  const client = await createClient(options);
  const send = createSend(options);
  const read = createRead(send);
  return {
    ...createObjectRequests({ client, send, read }),
    ...createSchemaRequests({ client, send, read }),
    readFingerprint: async () => send(() => readFingerprint(options)),
  };
}

async function createClient({ url, apiKey }: WeaviateConnection): Promise<WeaviateClient> {
  const library = await import('weaviate-ts-client');
  // Reason for the cast: the library's types declare the default export one level deeper than it is.
  const weaviate = library.default as unknown as typeof library.default.default;
  const key = apiKey === undefined ? {} : { apiKey: new weaviate.ApiKey(apiKey) };
  return weaviate.client({ host: url, ...key });
}

/** Every replica of Weaviate confirms a write. */
const all = 'ALL';

interface Requests {
  readonly client: WeaviateClient;
  readonly send: Send;
  /** Sends again after a failure that may pass. */
  readonly read: Send;
}

const createObjectRequests = ({ client, send, read }: Requests): ObjectRequests => ({
  query: async (graphql) =>
    read(async () => {
      const reply = (await client.graphql.raw().withQuery(graphql).do()) as { data: Record<string, unknown> };
      return reply.data;
    }, onAbsentTenant(undefined)),

  create: async (object) => {
    const request = withObject(client.data.creator(), object);
    return send(
      async () => {
        await request.withConsistencyLevel(all).do();
        return true;
      },
      onMessage(/already exists/, false),
    );
  },

  replace: async (object) => {
    const request = withObject(client.data.updater(), object);
    return send(
      async () => {
        await request.withConsistencyLevel(all).do();
        return true;
      },
      orElse(onStatus(404, false), onMessage(/no object with id|tenant not found/, false)),
    );
  },

  find: async ({ collection, tenant = '' }, id) => {
    const getter = client.data.getterById().withClassName(collection).withId(id).withVector();
    if (tenant) getter.withTenant(tenant);
    return read(async () => toFound(await getter.do()), orElse(onStatus(404, undefined), onAbsentTenant(undefined)));
  },

  putMany: async (objects) => {
    if (objects.length === 0) return;
    const batch = objects.map(({ collection, tenant, id, properties, vector }) => ({
      class: collection,
      id,
      properties: { ...properties },
      ...(vector && { vector: [...vector] }),
      ...(tenant !== undefined && { tenant }),
    }));
    const batcher = client.batch.objectsBatcher().withObjects(...batch);
    const results = await send(() => batcher.withConsistencyLevel(all).do());
    const failed = results.find(({ result }) => result?.status !== 'SUCCESS');
    if (failed) throw storageFailed(new Error(JSON.stringify(failed.result)));
  },

  removeMany: async ({ collection, tenant = '' }, ids) => {
    if (ids.length === 0) return [];
    const where: WhereFilter = { path: ['id'], operator: 'ContainsAny', valueTextArray: [...ids] };
    const deleter = client.batch.objectsBatchDeleter().withClassName(collection).withWhere(where);
    if (tenant) deleter.withTenant(tenant);
    const nothing: BatchDeleteResponse = {};
    const reply = await send(
      () => deleter.withOutput('verbose').withConsistencyLevel(all).do(),
      onAbsentTenant(nothing),
    );
    const objects = reply.results?.objects ?? [];
    const failed = objects.find(({ status }) => status !== 'SUCCESS');
    if (failed) throw unavailable(away, new Error(JSON.stringify(failed)));
    return objects.map(({ id }) => String(id));
  },

  page: async ({ collection, tenant = '' }, { after = '', limit }) => {
    const getter = client.data.getter().withClassName(collection).withLimit(limit).withVector();
    if (tenant) getter.withTenant(tenant);
    if (after) getter.withAfter(after);
    const reply = await read(() => getter.do(), onAbsentTenant({ objects: [] }));
    return (reply.objects ?? []).map(toFound);
  },
});

type Writer = ReturnType<WeaviateClient['data']['creator']> | ReturnType<WeaviateClient['data']['updater']>;

function withObject<W extends Writer>(writer: W, { collection, tenant = '', id, properties, vector }: NewObject): W {
  writer
    .withClassName(collection)
    .withId(id)
    .withProperties({ ...properties });
  if (vector) writer.withVector([...vector]);
  if (tenant) writer.withTenant(tenant);
  return writer;
}

const toFound = ({ id = '', properties, vector, lastUpdateTimeUnix }: WeaviateObject): FoundObject => ({
  id,
  properties: properties ?? {},
  vector: vector ?? [],
  updatedAt: Number(lastUpdateTimeUnix),
});

interface Requests {
  readonly client: WeaviateClient;
  readonly send: Send;
  /** Sends again after a failure that may pass. */
  readonly read: Send;
}

const createSchemaRequests = ({ client, send, read }: Requests): SchemaRequests => ({
  readVersion: async () => {
    const { version } = await read(
      async () => (await client.misc.metaGetter().do()) as { readonly version?: unknown },
      onStatus(403, { version: undefined }),
    );
    return typeof version === 'string' ? version : undefined;
  },

  listCollections: async () => {
    const { classes = [] } = await read(() => client.schema.getter().do());
    return classes.map((definition) => String(definition.class));
  },

  createCollection: async (definition) =>
    send(
      async () => {
        await client.schema.classCreator().withClass(definition).do();
        return true;
      },
      onMessage(/already exists/, false),
    ),

  dropCollection: async (collection) => send(() => client.schema.classDeleter().withClassName(collection).do()),

  listTenants: async (collection) => {
    const tenants = await read(() => client.schema.tenantsGetter(collection).do());
    return tenants.map(({ name = '', activityStatus }) => ({
      name,
      isActive: !['COLD', 'INACTIVE'].includes(activityStatus ?? ''),
    }));
  },

  hasTenant: async (collection, tenant) =>
    read(() => client.schema.tenantsExists(collection, tenant).do(), onStatus(404, false)),

  deactivate: async (collection, names) => {
    const tenants = names.map((name) => ({ name, activityStatus: 'COLD' as const }));
    if (tenants.length > 0) await send(() => client.schema.tenantsUpdater(collection, tenants).do());
  },
});

/** The result in place of an error that is no failure; `undefined` when the error is one. */
type Fallback<T> = (error: unknown) => { readonly result: T } | undefined;

const onMessage =
  <T>(pattern: RegExp, result: T): Fallback<T> =>
  (error) =>
    pattern.test(messageOf(error)) ? { result } : undefined;
const onAbsentTenant = <T>(result: T): Fallback<T> => onMessage(/tenant not found/, result);
const onStatus =
  <T>(status: number, result: T): Fallback<T> =>
  (error) =>
    statusOf(error) === status ? { result } : undefined;
const orElse =
  <T>(first: Fallback<T>, second: Fallback<T>): Fallback<T> =>
  (error) =>
    first(error) ?? second(error);

/** Runs one request. @throws Unavailable, or StorageFailed when Weaviate refuses the request. */
type Send = <T, U = T>(work: () => Promise<T>, fallback?: Fallback<U>) => Promise<T | U>;

interface SendOptions extends Pick<WeaviateConnection, 'requestTimeoutMs'> {
  /** Is called with each request that Weaviate did not answer, or answered with a failure of its own. */
  readonly onFailure?: (error: ServiceError) => void;
}

/** How many requests run at once. A request that timed out counts until it ends. */
const maxRequests = 512;

function createSend({ requestTimeoutMs, onFailure }: SendOptions): Send {
  let running = 0;
  return async (work, fallback) => {
    if (running >= maxRequests) throw unavailable('the store of memories has too much to do');
    running += 1;
    const working = work().finally(() => {
      running -= 1;
    });
    try {
      return await inTime(working, requestTimeoutMs);
    } catch (error) {
      const replaced = fallback?.(error);
      if (replaced) return replaced.result;
      const failure = toFailure(error);
      if (failure.code === 'Unavailable') onFailure?.(failure);
      throw failure;
    }
  };
}

/** Sends reads up to three times: a tenant that is being activated or deactivated refuses for a moment. */
const createRead =
  (send: Send): Send =>
  async (work, fallback) =>
    retry(() => send(work, fallback), {
      ...{ maxAttempts: 3, firstMs: 100, maxMs: 100 },
      mayHelp: (error) => isServiceError(error, 'Unavailable') && !(error.cause instanceof Late),
    });

/** No answer came within the timeout. */
class Late extends Error {}

/** The library cannot cancel a request: a request that times out continues. */
async function inTime<T>(work: Promise<T>, ms: number): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    late.reject(unavailable(away, new Late(`no answer within ${String(ms)} ms`)));
  }, ms);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

const away = 'the store of memories is unavailable for now';

const storageFailed = (cause: unknown): ServiceError =>
  new ServiceError('StorageFailed', 'the store of memories failed', { cause });

/** Messages that only a fault of this code or of the configuration can cause; another attempt does not help. */
const misuse = /Syntax Error|Cannot query field|Unknown argument|invalid (where|filter)|wrong size/i;

/** Translates the errors of the library. */
function toFailure(error: unknown): ServiceError {
  if (isServiceError(error)) return error;
  const status = statusOf(error);
  const isRefusal = status !== undefined && status >= 400 && status < 500 && status !== 408 && status !== 429;
  return isRefusal || misuse.test(messageOf(error)) ? storageFailed(error) : unavailable(away, error);
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

function statusOf(error: unknown): number | undefined {
  const inMessage = /^usage error \((\d{3})\)/.exec(messageOf(error))?.[1];
  if (inMessage !== undefined) return Number(inMessage);
  const status: unknown = (error as { response?: { status?: unknown } } | undefined)?.response?.status;
  return typeof status === 'number' && status !== 200 ? status : undefined;
}
