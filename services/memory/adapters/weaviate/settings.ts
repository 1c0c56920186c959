import { ConfigError, integer, text, type Settings, type Values } from '@agent-workflow/kit/env';

/** How the memory service reaches Weaviate in a cluster. */
export const weaviateSettings = {
  WEAVIATE_URL: text(
    undefined,
    'The Weaviate in which a cluster keeps memories, `http://` or `https://`; unset, the memory service keeps them in `DATA_DIR`',
  ),
  WEAVIATE_API_KEY: text(undefined, 'The key that Weaviate is signed in to with', { secret: true }),
  WEAVIATE_PREFIX: text(
    'AgentMemories',
    'What the names of collections in Weaviate begin with, for services that share one: a capital, then letters and digits',
  ),
  WEAVIATE_TIMEOUT_MS: integer(10_000, 'How long one request to Weaviate may take, in milliseconds', { min: 1 }),
  WEAVIATE_IDLE_SECONDS: integer(
    600,
    "Seconds after which the memories of an owner who does not use them leave Weaviate's working memory",
    { min: 1 },
  ),
} satisfies Settings;

export type WeaviateValues = Values<typeof weaviateSettings>;

/** The settings in the words of the adapter, which knows of no environment. */
export interface WeaviateReach {
  readonly url: string;
  readonly apiKey: string | undefined;
  readonly prefix: string;
  readonly requestTimeoutMs: number;
  readonly idleMs: number;
}

/** @returns `undefined` when no Weaviate is named. @throws ConfigError naming every setting that does not hold. */
export function readWeaviate(values: WeaviateValues): WeaviateReach | undefined {
  const { WEAVIATE_URL: url, WEAVIATE_PREFIX: prefix } = values;
  if (url === undefined) return undefined;
  const problems = [
    ...(isAddress(url) ? [] : ['WEAVIATE_URL must be an http or https address without a path, user or query']),
    ...(/^[A-Z][A-Za-z0-9]{0,63}$/.test(prefix)
      ? []
      : ['WEAVIATE_PREFIX must be a capital, then at most 63 letters and digits']),
  ];
  if (problems.length > 0) throw new ConfigError(problems.join('\n'));
  return {
    url: new URL(url).origin,
    apiKey: values.WEAVIATE_API_KEY,
    prefix,
    requestTimeoutMs: values.WEAVIATE_TIMEOUT_MS,
    idleMs: values.WEAVIATE_IDLE_SECONDS * 1000,
  };
}

function isAddress(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`;
}
