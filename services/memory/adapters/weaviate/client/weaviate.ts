/** How a Weaviate is reached. */
export interface WeaviateConnection {
  /** `http://host:port` or `https://…`. */
  readonly url: string;
  readonly apiKey?: string | undefined;
  /** The timeout of one request. A write that times out may still take effect. */
  readonly requestTimeoutMs: number;
}

export type Properties = Readonly<Record<string, string | number | readonly string[]>>;

/** Where an object is kept: a collection, and the tenant in a collection that has tenants. */
export interface Scope {
  readonly collection: string;
  readonly tenant?: string | undefined;
}

export interface NewObject extends Scope {
  readonly id: string;
  readonly properties: Properties;
  readonly vector?: Float32Array | undefined;
}

export interface FoundObject {
  readonly id: string;
  readonly properties: Readonly<Record<string, unknown>>;
  readonly vector: readonly number[];
  /** The time of the last write, by the server's clock: milliseconds since 1970 UTC. */
  readonly updatedAt: number;
}

interface Tenant {
  readonly name: string;
  /** Whether the tenant is loaded. The next use activates an inactive one. */
  readonly isActive: boolean;
}

export interface ObjectRequests {
  /** The `data` of a GraphQL query; `undefined` when the tenant does not exist. */
  readonly query: (graphql: string) => Promise<Readonly<Record<string, unknown>> | undefined>;
  /** Adds one object; `false` when its id exists. Its vector is on disk when this resolves. */
  readonly create: (object: NewObject) => Promise<boolean>;
  /** Replaces one object; `false` when it is absent. Its vector is on disk when this resolves. */
  readonly replace: (object: NewObject) => Promise<boolean>;
  readonly find: (scope: Scope, id: string) => Promise<FoundObject | undefined>;
  /**
   * Puts many objects, and replaces those that exist. Their vectors are on disk after the next single write to their tenant.
   * @throws StorageFailed when Weaviate refused one of them.
   */
  readonly putMany: (objects: readonly NewObject[]) => Promise<void>;
  /** Removes the objects of these ids and returns the ids of those that existed. */
  readonly removeMany: (scope: Scope, ids: readonly string[]) => Promise<string[]>;
  /** A page of a scope's objects in the order of their ids, vectors included. */
  readonly page: (
    scope: Scope,
    page: { readonly after?: string | undefined; readonly limit: number },
  ) => Promise<FoundObject[]>;
}

export interface SchemaRequests {
  /** The server's version, as `1.38.6`; `undefined` where the key may not read it. */
  readonly readVersion: () => Promise<string | undefined>;
  readonly listCollections: () => Promise<string[]>;
  /** `false` when a collection of that name exists. Of many calls at once exactly one returns `true`. */
  readonly createCollection: (definition: Readonly<Record<string, unknown>>) => Promise<boolean>;
  readonly dropCollection: (collection: string) => Promise<void>;
  readonly listTenants: (collection: string) => Promise<Tenant[]>;
  readonly hasTenant: (collection: string, tenant: string) => Promise<boolean>;
  /** Writes the tenants' data to disk and unloads it. The next use activates a tenant again. */
  readonly deactivate: (collection: string, tenants: readonly string[]) => Promise<void>;
}

/**
 * Requests to one Weaviate. Each is Unavailable while Weaviate cannot be reached or is too slow; a write may then have taken effect, and may still
 * do so. A tenant that does not exist reads as an empty one.
 */
export interface Weaviate extends ObjectRequests, SchemaRequests {
  /** A text that changes with every restart of a node. */
  readonly readFingerprint: () => Promise<string>;
}
