import { sizes } from '@agent-workflow/kit/sizes';
import { Type } from '../../common/builders.ts';

/** A JSON object of any shape. */
export const JsonObject = Type.Unsafe<Readonly<Record<string, unknown>>>({ type: 'object' });

/** One of a closed list of words. */
export const word = <const T extends readonly string[]>(words: T) => Type.Unsafe<T[number]>({ enum: [...words] });

/** An id in a path or a body. */
export const PathId = Type.String({ minLength: 1, maxLength: 300 });

/** The name of an agent. */
export const Model = Type.String({ minLength: 1, maxLength: 256 });

/** Up to 16 texts, as OpenAI bounds them. */
export const Metadata = Type.Unsafe<Readonly<Record<string, string>>>({
  type: 'object',
  maxProperties: 16,
  additionalProperties: { type: 'string', maxLength: 512 },
});

export const Objects = (most: number) => Type.Array(JsonObject, { maxItems: most });
export const Tools = Objects(sizes.tools);

const optionalNumber = Type.Optional(Type.Number());
const optionalText = Type.Optional(Type.String({ maxLength: 1024 }));
const optionalCount = Type.Optional(Type.Integer({ minimum: 1 }));

/** What a request asks of a model, in both APIs. The agent gets it in `config.openai`. */
export const modelSettings = {
  temperature: optionalNumber,
  top_p: optionalNumber,
  parallel_tool_calls: Type.Optional(Type.Boolean()),
  user: optionalText,
  safety_identifier: optionalText,
  prompt_cache_key: optionalText,
  prompt_cache_retention: optionalText,
  service_tier: optionalText,
};

/** The same of a chat completion alone. */
export const chatSettings = {
  ...modelSettings,
  frequency_penalty: optionalNumber,
  presence_penalty: optionalNumber,
  max_tokens: optionalCount,
  max_completion_tokens: optionalCount,
  seed: Type.Optional(Type.Integer()),
  stop: Type.Optional(
    Type.Unsafe<string | readonly string[]>({ type: ['string', 'array'], maxItems: 4, maxLength: 1024 }),
  ),
  reasoning_effort: optionalText,
  verbosity: optionalText,
};
