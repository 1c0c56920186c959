import { sizes } from '@agent-workflow/kit/sizes';
import type { Static } from 'typebox';
import { Type } from '../../common/builders.ts';
import { chatSettings, JsonObject, Metadata, Model, Objects, Tools } from './common.ts';

const anything = Type.Optional(Type.Unknown());

export const ChatCompletion = Type.Object({
  model: Model,
  messages: Type.Array(JsonObject, { minItems: 1, maxItems: sizes.messages }),
  stream: Type.Optional(Type.Boolean()),
  stream_options: Type.Optional(
    Type.Object({
      include_usage: Type.Optional(Type.Boolean()),
      include_obfuscation: Type.Optional(Type.Boolean()),
    }),
  ),
  tools: Type.Optional(Tools),
  tool_choice: anything,
  response_format: Type.Optional(JsonObject),
  metadata: Type.Optional(Metadata),
  ...chatSettings,
  n: Type.Optional(Type.Integer()),
  store: Type.Optional(Type.Boolean()),
  modalities: Type.Optional(Type.Array(Type.String({ maxLength: 32 }), { maxItems: 8 })),
  logprobs: Type.Optional(Type.Boolean()),
  top_logprobs: Type.Optional(Type.Integer()),
  logit_bias: Type.Optional(JsonObject),
  audio: anything,
  prediction: anything,
  web_search_options: anything,
  functions: Type.Optional(Objects(sizes.tools)),
  function_call: anything,
  moderation: anything,
  prompt_cache_options: anything,
});
export type ChatInput = Static<typeof ChatCompletion>;
