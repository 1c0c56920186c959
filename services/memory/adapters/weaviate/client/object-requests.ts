import type { BatchDeleteResponse, WeaviateClient, WeaviateObject, WhereFilter } from 'weaviate-ts-client';
import { unavailable } from '@agent-workflow/kit/errors';
import { away, onAbsentTenant, onMessage, onStatus, orElse, storageFailed, type Send } from './send.ts';
import type { FoundObject, NewObject, ObjectRequests } from './weaviate.ts';

/** Every replica of Weaviate confirms a write. */
const all = 'ALL';

interface Requests {
  readonly client: WeaviateClient;
  readonly send: Send;
  /** Sends again after a failure that may pass. */
  readonly read: Send;
}

export const createObjectRequests = ({ client, send, read }: Requests): ObjectRequests => ({
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
