import { sizes } from '@agent-workflow/kit/sizes';
import type { Static } from 'typebox';
import { Type } from '../../common/builders.ts';
import { JsonObject, Metadata, Model, modelSettings, PathId, Tools, word } from './common.ts';

const anything = Type.Optional(Type.Unknown());
const count = Type.Optional(Type.Integer({ minimum: 1 }));

/** The longest text of a request, in characters. */
const longest = sizes.message;

/** A text, or a list of items. */
const Input = Type.Unsafe<string | readonly unknown[]>({
  type: ['string', 'array'],
  maxLength: longest,
  maxItems: sizes.messages,
  items: { type: 'object' },
});

/** A conversation by its id, or as an object with that. */
const Conversation = Type.Unsafe<string | { readonly id: string }>({
  type: ['string', 'object'],
  maxLength: 300,
  properties: { id: { type: 'string', maxLength: 300 } },
});

/** Settings of a model that only responses have. */
export const responseSettings = {
  ...modelSettings,
  max_output_tokens: count,
  max_tool_calls: count,
  reasoning: Type.Optional(JsonObject),
  text: Type.Optional(JsonObject),
};

export const CreateResponse = Type.Object({
  model: Type.Optional(Model),
  input: Type.Optional(Input),
  instructions: Type.Optional(Type.String({ maxLength: longest })),
  previous_response_id: Type.Optional(PathId),
  conversation: Type.Optional(Conversation),
  background: Type.Optional(Type.Boolean()),
  store: Type.Optional(Type.Boolean()),
  stream: Type.Optional(Type.Boolean()),
  stream_options: Type.Optional(Type.Object({ include_obfuscation: Type.Optional(Type.Boolean()) })),
  include: Type.Optional(Type.Array(Type.String({ maxLength: 256 }), { maxItems: 32 })),
  metadata: Type.Optional(Metadata),
  tools: Type.Optional(Tools),
  tool_choice: anything,
  truncation: Type.Optional(word(['auto', 'disabled'])),
  ...responseSettings,
  top_logprobs: Type.Optional(Type.Integer()),
  prompt: anything,
  context_management: anything,
  access_programs: anything,
  background_options: anything,
  moderation: anything,
  image: anything,
  prompt_cache_options: anything,
});
export type ResponseInput = Static<typeof CreateResponse>;

export const ResponseParams = Type.Object({ run_id: PathId });

/** How a response is read: as it is, or its events behind one of them. */
export const ReadResponse = Type.Object({
  stream: Type.Optional(word(['true', 'false'])),
  starting_after: Type.Optional(Type.Integer({ minimum: 0 })),
});
export type ReadInput = Static<typeof ReadResponse>;

/** A page of items. */
export const ItemsQuery = Type.Object({
  after: Type.Optional(PathId),
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 20 }),
  order: Type.Optional(word(['asc', 'desc'])),
});
export type ItemsPage = Static<typeof ItemsQuery>;
