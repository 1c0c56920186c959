import { setTimeout as wait } from 'node:timers/promises';
import type { BatchDeleteResponse, WeaviateClient, WeaviateObject, WhereFilter } from 'weaviate-ts-client';
import { isServiceError, ServiceError, unavailable } from '@agent-workflow/kit/errors';

export interface WeaviatePlace {
  /** `http://host:port` or `https://…`. */
  readonly url: string;
  readonly apiKey?: string | undefined;
  /** How long one request waits for its answer. What a write has done by then stays done. */
  readonly requestTimeoutMs: number;
}

export type Properties = Readonly<Record<string, string | number | readonly string[]>>;

/** Where an object stands: a collection, and the tenant of those that have tenants. */
export interface Home {
  readonly collection: string;
  readonly tenant?: string | undefined;
}

export interface NewObject extends Home {
  readonly id: string;
  readonly properties: Properties;
  readonly vector?: Float32Array | undefined;
}

export interface FoundObject {
  readonly id: string;
  readonly properties: Readonly<Record<string, unknown>>;
  readonly vector: readonly number[];
  /** When it was last written, by the server's clock: milliseconds since 1970 UTC. */
  readonly updatedAt: number;
}

export interface Tenant {
  readonly name: string;
  /** Loaded. A tenant at rest is not, until it is used. */
  readonly isHot: boolean;
}

/**
 * Requests to one Weaviate. Each fails with Unavailable while it is away or too slow; then a write may have taken effect, and may
 * still do so. A tenant that was never written to is as good as an empty one.
 */
export interface Weaviate {
  /** The `data` of a GraphQL query; `undefined` for a tenant that was never written to. */
  readonly query: (graphql: string) => Promise<Readonly<Record<string, unknown>> | undefined>;
  /** Adds one object; `false` when its id is taken. Its vector is on disk when this resolves. */
  readonly create: (object: NewObject) => Promise<boolean>;
  /** Replaces one object; `false` when it is absent. Its vector is on disk when this resolves. */
  readonly replace: (object: NewObject) => Promise<boolean>;
  readonly find: (home: Home, id: string) => Promise<FoundObject | undefined>;
  /**
   * Puts many, in place of those that are there. Their vectors are on disk after the next single write to their tenant.
   * @throws StorageFailed when one of them was refused.
   */
  readonly putMany: (objects: readonly NewObject[]) => Promise<void>;
  /** Removes those of the ids that are there, and says which. */
  readonly removeMany: (home: Home, ids: readonly string[]) => Promise<string[]>;
  /** A page of a home's objects in the order of their ids, vectors included. */
  readonly page: (
    home: Home,
    page: { readonly after?: string | undefined; readonly limit: number },
  ) => Promise<FoundObject[]>;
  readonly listCollections: () => Promise<string[]>;
  /** `false` when there is one of that name: exactly one of many that ask at once is told `true`. */
  readonly createCollection: (definition: Readonly<Record<string, unknown>>) => Promise<boolean>;
  readonly dropCollection: (collection: string) => Promise<void>;
  readonly listTenants: (collection: string) => Promise<Tenant[]>;
  readonly hasTenant: (collection: string, tenant: string) => Promise<boolean>;
  /** Puts tenants to rest: their data goes from memory to disk, whole. The next use wakes them. */
  readonly rest: (collection: string, tenants: readonly string[]) => Promise<void>;
  /** What changes with every restart of a node; fails with Unavailable like all else. */
  readonly readFingerprint: () => Promise<string>;
}

export interface WeaviateOptions extends WeaviatePlace {
  /** Told of each request that Weaviate did not answer, or answered with a failure of its own. */
  readonly onFailure?: (error: ServiceError) => void;
}

/** The library is loaded here, so that whoever runs without Weaviate never does. Nothing is asked yet. */
export async function createWeaviate(options: WeaviateOptions): Promise<Weaviate> {
  const client = await createClient(options);
  const ask = createAsk(options);
  const askAgain = again(ask);
  const all = 'ALL';

  return {
    query: async (graphql) =>
      askAgain(async () => {
        const reply = (await client.graphql.raw().withQuery(graphql).do()) as { data: Record<string, unknown> };
        return reply.data;
      }, onAbsentTenant(undefined)),

    create: async ({ collection, tenant = '', id, properties, vector }) => {
      const creator = client.data
        .creator()
        .withClassName(collection)
        .withId(id)
        .withProperties({ ...properties });
      if (vector) creator.withVector([...vector]);
      if (tenant) creator.withTenant(tenant);
      return ask(
        async () => {
          await creator.withConsistencyLevel(all).do();
          return true;
        },
        onMessage(/already exists/, false),
      );
    },

    replace: async ({ collection, tenant = '', id, properties, vector }) => {
      const updater = client.data
        .updater()
        .withClassName(collection)
        .withId(id)
        .withProperties({ ...properties });
      if (vector) updater.withVector([...vector]);
      if (tenant) updater.withTenant(tenant);
      return ask(
        async () => {
          await updater.withConsistencyLevel(all).do();
          return true;
        },
        onMessage(/no object with id|tenant not found/, false),
      );
    },

    find: async ({ collection, tenant = '' }, id) => {
      const getter = client.data.getterById().withClassName(collection).withId(id).withVector();
      if (tenant) getter.withTenant(tenant);
      return askAgain(
        async () => toFound(await getter.do()),
        orElse(onStatus(404, undefined), onAbsentTenant(undefined)),
      );
    },

    putMany: async (objects) => {
      const batch = objects.map(({ collection, tenant, id, properties, vector }) => ({
        class: collection,
        id,
        properties: { ...properties },
        ...(vector && { vector: [...vector] }),
        ...(tenant !== undefined && { tenant }),
      }));
      if (batch.length === 0) return;
      const results = await ask(() =>
        client.batch
          .objectsBatcher()
          .withObjects(...batch)
          .withConsistencyLevel(all)
          .do(),
      );
      const failed = results.find(({ result }) => result?.status !== 'SUCCESS');
      if (failed) throw storageFailed(new Error(JSON.stringify(failed.result)));
    },

    removeMany: async ({ collection, tenant = '' }, ids) => {
      if (ids.length === 0) return [];
      const where: WhereFilter = { path: ['id'], operator: 'ContainsAny', valueTextArray: [...ids] };
      const deleter = client.batch.objectsBatchDeleter().withClassName(collection).withWhere(where);
      if (tenant) deleter.withTenant(tenant);
      const nothing: BatchDeleteResponse = {};
      const reply = await ask(
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
      const reply = await askAgain(() => getter.do(), onAbsentTenant({ objects: [] }));
      return (reply.objects ?? []).map(toFound);
    },

    listCollections: async () => {
      const { classes = [] } = await askAgain(() => client.schema.getter().do());
      return classes.map((definition) => String(definition.class));
    },

    createCollection: async (definition) =>
      ask(
        async () => {
          await client.schema.classCreator().withClass(definition).do();
          return true;
        },
        onMessage(/already exists/, false),
      ),

    dropCollection: async (collection) => ask(() => client.schema.classDeleter().withClassName(collection).do()),

    listTenants: async (collection) => {
      const tenants = await askAgain(() => client.schema.tenantsGetter(collection).do());
      return tenants.map(({ name = '', activityStatus }) => ({
        name,
        isHot: !['COLD', 'INACTIVE'].includes(activityStatus ?? ''),
      }));
    },

    hasTenant: async (collection, tenant) =>
      askAgain(() => client.schema.tenantsExists(collection, tenant).do(), onStatus(404, false)),

    rest: async (collection, names) => {
      const tenants = names.map((name) => ({ name, activityStatus: 'COLD' as const }));
      if (tenants.length > 0) await ask(() => client.schema.tenantsUpdater(collection, tenants).do());
    },

    readFingerprint: async () => ask(() => readStatistics(options)),
  };
}

async function createClient({ url, apiKey }: WeaviatePlace): Promise<WeaviateClient> {
  const library = await import('weaviate-ts-client');
  // Its types say that the default export is one level further down than it is.
  const weaviate = library.default as unknown as typeof library.default.default;
  const key = apiKey === undefined ? {} : { apiKey: new weaviate.ApiKey(apiKey) };
  return weaviate.client({ host: url, ...key });
}

/** A reply in place of an error that means no failure; `undefined` when it means one. */
type Excuse<T> = (error: unknown) => { readonly reply: T } | undefined;

const onMessage =
  <T>(pattern: RegExp, reply: T): Excuse<T> =>
  (error) =>
    pattern.test(messageOf(error)) ? { reply } : undefined;
const onAbsentTenant = <T>(reply: T): Excuse<T> => onMessage(/tenant not found/, reply);
const onStatus =
  <T>(status: number, reply: T): Excuse<T> =>
  (error) =>
    statusOf(error) === status ? { reply } : undefined;
const orElse =
  <T>(first: Excuse<T>, second: Excuse<T>): Excuse<T> =>
  (error) =>
    first(error) ?? second(error);

/** How many requests may be under way: those that nobody waits for any more count until they end. */
const maxUnderWay = 512;

type Ask = <T, U = T>(work: () => Promise<T>, excuse?: Excuse<U>) => Promise<T | U>;

function createAsk({ requestTimeoutMs, onFailure }: WeaviateOptions): Ask {
  let underWay = 0;
  return async (work, excuse) => {
    if (underWay >= maxUnderWay) throw unavailable('the store of memories has too much to do');
    underWay += 1;
    const working = work().finally(() => {
      underWay -= 1;
    });
    try {
      return await inTime(working, requestTimeoutMs);
    } catch (error) {
      const excused = excuse?.(error);
      if (excused) return excused.reply;
      const failure = toFailure(error);
      if (failure.code === 'Unavailable') onFailure?.(failure);
      throw failure;
    }
  };
}

/** Reads are tried again shortly: a tenant that goes to rest or wakes up refuses for a moment. */
const again =
  (ask: Ask): Ask =>
  async (work, excuse) => {
    for (let tries = 1; ; tries += 1) {
      try {
        return await ask(work, excuse);
      } catch (error) {
        if (tries >= maxTries || !isServiceError(error, 'Unavailable') || isLate(error)) throw error;
        await wait(pauseMs);
      }
    }
  };

const maxTries = 3;
const pauseMs = 50;
const isLate = ({ cause }: Error): boolean => cause instanceof Late;

/** No answer came in time. */
class Late extends Error {}

/** The library's requests cannot be ended: a late one is left to itself. */
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

const away = 'the store of memories is away for now';
const storageFailed = (cause: unknown): ServiceError =>
  new ServiceError('StorageFailed', 'the store of memories failed', { cause });

/** What only a fault of ours, or of the configuration, can bring about; all else may pass. */
const misuse = /Syntax Error|Cannot query field|Unknown argument|invalid (where|filter)|wrong size/i;

/** The one place that knows the library's errors. */
function toFailure(error: unknown): ServiceError {
  if (isServiceError(error)) return error;
  const status = statusOf(error);
  const isRefusal = status !== undefined && status >= 400 && status < 500 && status !== 408 && status !== 429;
  return isRefusal || misuse.test(messageOf(error)) ? storageFailed(error) : unavailable(away, error);
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

function statusOf(error: unknown): number | undefined {
  const said = /^usage error \((\d{3})\)/.exec(messageOf(error))?.[1];
  if (said !== undefined) return Number(said);
  const status: unknown = (error as { response?: { status?: unknown } } | undefined)?.response?.status;
  return typeof status === 'number' && status !== 200 ? status : undefined;
}

const toFound = ({ id = '', properties, vector, lastUpdateTimeUnix }: WeaviateObject): FoundObject => ({
  id,
  properties: properties ?? {},
  vector: vector ?? [],
  updatedAt: Number(lastUpdateTimeUnix),
});

interface Statistics {
  readonly statistics?: readonly NodeStatistics[];
}

interface NodeStatistics {
  readonly name?: string;
  readonly status?: string;
  readonly initialLastAppliedIndex?: number;
  readonly raft?: { readonly term?: string };
}

/** What stands for the fingerprint where Weaviate refuses to give its statistics: then only failed requests show a restart. */
const notTold = 'not told';

/** Whether a fingerprint changes with a restart. */
export const isTold = (fingerprint: string): boolean => fingerprint !== notTold;

/** The library has no call for this. The term of a cluster of one counts its starts; a node that is away is missing here. */
async function readStatistics({ url, apiKey, requestTimeoutMs }: WeaviatePlace): Promise<string> {
  const response = await fetch(`${url}/v1/cluster/statistics`, {
    headers: apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` },
    signal: AbortSignal.timeout(requestTimeoutMs),
  });
  if (response.status >= 500) throw new Error(`statistics: status ${String(response.status)}`);
  if (!response.ok) return notTold;
  const { statistics = [] } = (await response.json()) as Statistics;
  return statistics
    .map(({ name, status, initialLastAppliedIndex = 0, raft }) =>
      [name, status, initialLastAppliedIndex, raft?.term].join(':'),
    )
    .sort()
    .join(' ');
}
