import { ConfigError, integer, readEnv, text, type Env, type Settings } from '@agent-workflow/kit/env';

/** `MODEL` hands the agent to a model; without it the agent answers by rules of its own. */
export const settings = {
  OPENAI_BASE_URL: text(undefined, 'Where the OpenAI-compatible API of `MODEL` begins, `/v1` included'),
  OPENAI_API_KEY: text(undefined, 'The key of that API', { secret: true }),
  MODEL: text(
    undefined,
    'The model that drives the agent that `npm start` serves; without it the agent answers by rules of its own',
  ),
  MODEL_INPUT_MODALITIES: text(
    undefined,
    'What `MODEL` takes beside text, with commas between: `image`, `audio`, `video`, `document`, or `none`; all of it unless given',
  ),
  SUMMARIZE_OVER_MESSAGES: integer(
    60,
    'Messages in the context over which that agent puts the older two thirds into a summary; the thread keeps them all',
    { min: 2, max: 1_000_000 },
  ),
} satisfies Settings;

/** How a model is reached. */
export interface ModelAccess {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly model: string;
  /** Absent: all. */
  readonly inputModalities?: readonly Modality[];
}

const modalities = ['image', 'audio', 'video', 'document'] as const;
type Modality = (typeof modalities)[number];

/**
 * The model that the environment names; `undefined` when it names none.
 * @throws ConfigError when a model is named without the way to it, the address is none, or it takes what there is not.
 */
export function readModelAccess(env: Env): ModelAccess | undefined {
  const given = readEnv(settings, env);
  const { OPENAI_BASE_URL: baseUrl, OPENAI_API_KEY: apiKey, MODEL: model, MODEL_INPUT_MODALITIES: takes } = given;
  // A key in the environment may be there for another program: only a model says that this one is meant.
  if (model === undefined) return undefined;
  if (baseUrl !== undefined && apiKey !== undefined)
    return {
      ...{ baseUrl: checked(baseUrl), apiKey, model },
      ...(takes !== undefined && { inputModalities: takes === 'none' ? [] : toModalities(takes) }),
    };
  const missing = ['OPENAI_BASE_URL', 'OPENAI_API_KEY'].filter((name) => !env[name]);
  throw new ConfigError(`${missing.join(' and ')} must be set too, because MODEL is`);
}

const toModalities = (takes: string): Modality[] =>
  takes.split(',').map((given) => {
    const known = modalities.find((one) => one === given.trim());
    if (!known) throw new ConfigError(`MODEL_INPUT_MODALITIES must name ${modalities.join(', ')} or none`);
    return known;
  });

/** Over how many messages in its context the agent summarises. */
export const readSummarizeOver = (env: Env): number => readEnv(settings, env).SUMMARIZE_OVER_MESSAGES;

function checked(baseUrl: string): string {
  if (/^https?:/.test(baseUrl) && URL.canParse(baseUrl)) return baseUrl;
  throw new ConfigError(`OPENAI_BASE_URL must be an http or https address, not "${baseUrl}"`);
}
