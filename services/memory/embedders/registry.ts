import { choice, crossCheck, ConfigError, integer, text, type Settings, type Values } from '@agent-workflow/kit/env';
import type { Embedder } from '../ports/embedder.ts';
import { hashEmbedder } from './hash.ts';
import { createOpenaiEmbedder } from './openai.ts';
import { createEmbedderPool } from './pool.ts';

/** Of the API that takes no request without a key; servers of one's own may need none. */
const openaiUrl = 'https://api.openai.com/v1';

const openaiSettings = {
  EMBEDDINGS_BASE_URL: text(openaiUrl, 'The base URL of the embeddings API'),
  EMBEDDINGS_API_KEY: text(undefined, 'Its key, sent as a bearer token', { secret: true }),
  EMBEDDINGS_MODEL: text('text-embedding-3-small', 'The model that makes the vectors'),
  EMBEDDINGS_DIMENSION: integer(
    1536,
    'How many numbers a vector has: as many as the model gives, or fewer where it can be asked for fewer',
    { min: 1, max: 65_536 },
  ),
  EMBEDDINGS_TIMEOUT_MS: integer(30_000, 'How long one request to it may take', { min: 1, max: 600_000 }),
} satisfies Settings;

/** @throws ConfigError when the address is wrong, or its key is missing. */
function refuseOpenaiAccess({
  EMBEDDINGS_BASE_URL: baseUrl,
  EMBEDDINGS_API_KEY: apiKey,
}: Pick<Values<typeof openaiSettings>, 'EMBEDDINGS_BASE_URL' | 'EMBEDDINGS_API_KEY'>): void {
  if (!/^https?:/.test(baseUrl) || !URL.canParse(baseUrl)) {
    throw new ConfigError(`EMBEDDINGS_BASE_URL must be an http or https address, not "${baseUrl}"`);
  }
  if (baseUrl === openaiUrl && apiKey === undefined) {
    throw new ConfigError(
      `EMBEDDINGS_API_KEY must be set, because EMBEDDINGS_PROVIDER is openai and EMBEDDINGS_BASE_URL is ${baseUrl}`,
    );
  }
}

/**
 * The embedder of the settings, behind a pool. `measure` wraps the requests that the pool sends.
 * @throws ConfigError when the address is wrong, or its key is missing.
 */
function openOpenaiEmbedder(
  values: Values<typeof openaiSettings>,
  measure: (embedder: Embedder) => Embedder,
): Embedder {
  refuseOpenaiAccess(values);
  const embedder = createOpenaiEmbedder({
    baseUrl: values.EMBEDDINGS_BASE_URL,
    apiKey: values.EMBEDDINGS_API_KEY,
    model: values.EMBEDDINGS_MODEL,
    dimension: values.EMBEDDINGS_DIMENSION,
    timeoutMs: values.EMBEDDINGS_TIMEOUT_MS,
  });
  return createEmbedderPool(measure(embedder));
}

/** Wraps the embedder that sends the requests, to count and time them. */
type MeasureEmbedder = (embedder: Embedder) => Embedder;

/** The embedders by the value of `EMBEDDINGS_PROVIDER`: another one is a file of this folder and a line here. */
const embedders = {
  hash: (_values, measure) => measure(hashEmbedder),
  openai: openOpenaiEmbedder,
} satisfies Readonly<Record<string, (values: Values<typeof openaiSettings>, measure: MeasureEmbedder) => Embedder>>;

type EmbedderName = keyof typeof embedders;

/** Which embedder makes the vectors, and the settings of each. */
export const embedderSettings = {
  EMBEDDINGS_PROVIDER: choice(
    Object.keys(embedders) as EmbedderName[],
    'hash',
    'What turns memories into vectors: by their words alone, or an endpoint that speaks the OpenAI embeddings API',
  ),
  ...openaiSettings,
} satisfies Settings;

const { EMBEDDINGS_PROVIDER, EMBEDDINGS_BASE_URL, EMBEDDINGS_API_KEY } = embedderSettings;

/** What must hold between them. */
export const embedderChecks = [
  crossCheck({ EMBEDDINGS_PROVIDER, EMBEDDINGS_BASE_URL, EMBEDDINGS_API_KEY }, (values) => {
    if (values.EMBEDDINGS_PROVIDER === 'openai') refuseOpenaiAccess(values);
  }),
];

/**
 * The embedder that the settings name.
 * @throws ConfigError when its settings are wrong.
 */
export const openEmbedder = (
  values: Values<typeof embedderSettings>,
  measure: MeasureEmbedder = (embedder) => embedder,
): Embedder => embedders[values.EMBEDDINGS_PROVIDER](values, measure);
