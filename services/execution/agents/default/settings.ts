import { ConfigError, readEnv, text, type Env, type Settings } from '@agent-workflow/kit/env';

/** The three that hand the agent to a model; without any of them it answers by rules of its own. */
export const settings = {
  OPENAI_BASE_URL: text(undefined, 'Where the OpenAI-compatible API of the agent’s model begins, `/v1` included'),
  OPENAI_API_KEY: text(undefined, 'The key of that API', { secret: true }),
  MODEL: text(undefined, 'The model that drives the agent'),
} satisfies Settings;

/** How a model is reached. */
export interface ModelAccess {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly model: string;
}

/**
 * The model that the environment names; `undefined` when it names none.
 * @throws ConfigError when only some of the three are set, or the address is none.
 */
export function readModelAccess(env: Env): ModelAccess | undefined {
  const { OPENAI_BASE_URL: baseUrl, OPENAI_API_KEY: apiKey, MODEL: model } = readEnv(settings, env);
  if (baseUrl !== undefined && apiKey !== undefined && model !== undefined)
    return { baseUrl: checked(baseUrl), apiKey, model };
  const names = Object.keys(settings);
  const missing = names.filter((name) => !env[name]);
  if (missing.length === names.length) return undefined;
  throw new ConfigError(`${missing.join(' and ')} must be set too: ${names.join(', ')} name a model only together`);
}

function checked(baseUrl: string): string {
  if (/^https?:/.test(baseUrl) && URL.canParse(baseUrl)) return baseUrl;
  throw new ConfigError(`OPENAI_BASE_URL must be an http or https address, not "${baseUrl}"`);
}
