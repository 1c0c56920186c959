import type { WeaviateClient } from 'weaviate-ts-client';
import { onMessage, onStatus, type Send } from './send.ts';
import type { SchemaRequests } from './weaviate.ts';

interface Requests {
  readonly client: WeaviateClient;
  readonly send: Send;
  /** Sends again after a failure that may pass. */
  readonly read: Send;
}

export const createSchemaRequests = ({ client, send, read }: Requests): SchemaRequests => ({
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
