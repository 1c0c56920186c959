import type { WeaviateClient } from 'weaviate-ts-client';
import { readFingerprint } from './fingerprint.ts';
import { createObjectRequests } from './object-requests.ts';
import { createSchemaRequests } from './schema-requests.ts';
import { createRead, createSend, type SendOptions } from './send.ts';
import type { Weaviate, WeaviateConnection } from './weaviate.ts';

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
