import { sizes } from '@agent-workflow/kit/sizes';
import { blockRules, lastTime, roles, type BlockFieldType } from '@agent-workflow/protos/message';
import { Type, type Static } from 'typebox';
import { Done, Id, JsonObject, NewId, paged, paging, objectOf, Timestamp, words } from './common.ts';

/** The JSON Schema of each type that a field of a block may have. */
const fieldSchemas: Readonly<Record<BlockFieldType, object>> = {
  string: { type: 'string' },
  name: { type: 'string', minLength: 1 },
  boolean: { type: 'boolean' },
  object: { type: 'object' },
  array: { type: 'array' },
};

const toSchemas = (fields: Readonly<Record<string, BlockFieldType>>): Record<string, object> =>
  Object.fromEntries(Object.entries(fields).map(([name, type]) => [name, fieldSchemas[type]]));

const Block = Type.Unsafe<{ type: string; [key: string]: unknown }>({
  title: 'Block',
  type: 'object',
  required: ['type'],
  properties: { type: { type: 'string', minLength: 1 } },
  allOf: Object.entries(blockRules).map(([type, { required, optional, oneOf }]) => ({
    if: { required: ['type'], properties: { type: { const: type } } },
    then: {
      required: Object.keys(required),
      properties: { ...toSchemas(required), ...toSchemas(optional) },
      // With the type of each field, so that null counts as absence here too.
      ...(oneOf && {
        anyOf: oneOf.map((name) => ({
          required: [name],
          properties: toSchemas({ [name]: optional[name] ?? 'string' }),
        })),
      }),
    },
  })),
});

/** A number counts the seconds since 1970 below 100,000,000,000, and the milliseconds from there on. */
const NewTimestamp = Type.Unsafe<string | number>({
  type: ['string', 'number'],
  format: 'date-time',
  minimum: 0,
  maximum: lastTime,
});

/** A message as a caller sends it. */
export const NewMessage = objectOf('NewMessage', {
  message_id: Type.Optional(NewId),
  role: words(roles),
  content: Type.Unsafe<string | Static<typeof Block>[]>({
    type: ['string', 'array'],
    items: Block,
    maxItems: sizes.blocks,
  }),
  tools_calls: Type.Optional(Type.Array(Type.Unknown(), { maxItems: sizes.blocks })),
  metadata: Type.Optional(JsonObject),
  timestamp: Type.Optional(NewTimestamp),
});
export type NewMessage = Static<typeof NewMessage>;

/** The messages of one request. */
const NewMessages = Type.Array(NewMessage, { minItems: 1, maxItems: sizes.messages });

/** The messages of a run: empty only together with `resume`. */
export const RunMessages = Type.Array(NewMessage, { maxItems: sizes.messages });

/** A message of the log. */
export const Message = objectOf('Message', {
  message_id: Type.String(),
  role: words(roles),
  content: Type.Array(Block),
  tools_calls: Type.Optional(Type.Array(Type.Unknown())),
  metadata: Type.Optional(JsonObject),
  timestamp: Timestamp,
});

export const MessageParams = Type.Object({ thread_id: Id, message_id: Id });

export const MessagesQuery = Type.Object({ search: Type.Optional(Type.String()), ...paging });

export const AddMessages = objectOf('AddMessagesRequest', {
  messages: NewMessages,
  config: Type.Optional(JsonObject),
  metadata: Type.Optional(JsonObject),
});

export const MessageList = objectOf('MessageList', { messages: Type.Array(Message), ...paged });
export const OneMessage = objectOf('OneMessage', { ...Message.properties, message: Message });
export const AddedMessages = objectOf('AddedMessages', {
  messages: Type.Array(Message),
  success: Done.properties.success,
  message: Type.String(),
});
