import { choice, crossCheck, type Settings, type Values } from '@agent-workflow/kit/env';
import type { Embedder } from '../ports/embedder.ts';
import { hashEmbedder } from './hash.ts';
import { openaiSettings, openOpenaiEmbedder, refuseOpenaiAccess } from './openai-settings.ts';

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
