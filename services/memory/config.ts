import { choice, ConfigError, integer, text, type Settings, type Values } from '@agent-workflow/kit/env';
import { grpcSettings, processSettings, securitySettings } from '@agent-workflow/runtime/process';
import { hashEmbedder } from './embedders/hash.ts';
import { createEmbedderPool } from './embedders/pool.ts';
import type { Embedder } from './ports/port.ts';
import { weaviateSettings } from './adapters/weaviate/settings.ts';

/** What the environment says to the memory service. */
export const memorySettings = {
  EMBEDDINGS_PROVIDER: choice(
    ['hash', 'openai'],
    'hash',
    'What turns memories into vectors: by their words alone, or an endpoint that speaks the OpenAI embeddings API',
  ),
  EMBEDDINGS_BASE_URL: text('https://api.openai.com/v1', 'Where that API begins'),
  EMBEDDINGS_API_KEY: text(undefined, 'Its key, sent as a bearer token', { secret: true }),
  EMBEDDINGS_MODEL: text('text-embedding-3-small', 'The model to ask it for'),
  EMBEDDINGS_DIMENSION: integer(1536, 'How many numbers that model gives', { min: 1, max: 65_536 }),
  EMBEDDINGS_TIMEOUT_MS: integer(30_000, 'How long one request to it may take', { min: 1, max: 600_000 }),
  RELEVANCE_HALF_LIFE_DAYS: integer(30, 'Days after which a memory counts half as recent in a `relevance` search', {
    min: 1,
    max: 36_500,
  }),
} satisfies Settings;

/** Where a process of its own keeps memories, and what makes their vectors: also what its commands read. */
export const memoryStoreSettings = {
  ...processSettings,
  DATA_DIR: text('.data', 'Folder of the data; `:memory:` keeps nothing'),
  ...memorySettings,
  ...weaviateSettings,
} satisfies Settings;

/** What the memory service reads as a process of its own. */
export const memoryProcessSettings = {
  ...memoryStoreSettings,
  ...grpcSettings,
  ...securitySettings,
} satisfies Settings;

export type MemoryValues = Values<typeof memorySettings>;

/**
 * The embedder that the settings name; what only one of them needs is loaded with it. `measure` sees each request that is sent.
 * @throws ConfigError when its address is none.
 */
export async function createEmbedder(
  values: MemoryValues,
  measure: (embedder: Embedder) => Embedder = (embedder) => embedder,
): Promise<Embedder> {
  if (values.EMBEDDINGS_PROVIDER === 'hash') return measure(hashEmbedder);
  if (!/^https?:/.test(values.EMBEDDINGS_BASE_URL) || !URL.canParse(values.EMBEDDINGS_BASE_URL)) {
    throw new ConfigError(`EMBEDDINGS_BASE_URL must be an http or https address, not "${values.EMBEDDINGS_BASE_URL}"`);
  }
  const { createOpenaiEmbedder } = await import('./embedders/openai.ts');
  const embedder = createOpenaiEmbedder({
    baseUrl: values.EMBEDDINGS_BASE_URL,
    apiKey: values.EMBEDDINGS_API_KEY,
    model: values.EMBEDDINGS_MODEL,
    dimension: values.EMBEDDINGS_DIMENSION,
    timeoutMs: values.EMBEDDINGS_TIMEOUT_MS,
  });
  return createEmbedderPool(measure(embedder));
}
