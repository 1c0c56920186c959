import { sizes } from '@agent-workflow/kit/sizes';
import { roles } from '@agent-workflow/protos/message';
import { Type, type Static } from 'typebox';
import { Cursor, Done, Id, JsonObject, NewId, paging, record, Timestamp, words } from './common.ts';

/** What a block of a known type must hold; a block of another type is kept as it came. */
const knownBlocks = {
  text: { text: { type: 'string' } },
  reasoning: { text: { type: 'string' } },
  error: { message: { type: 'string' } },
  tool_call: { id: { type: 'string', minLength: 1 }, name: { type: 'string', minLength: 1 }, args: { type: 'object' } },
  remote_tool_call: {
    id: { type: 'string', minLength: 1 },
    name: { type: 'string', minLength: 1 },
    args: { type: 'object' },
  },
  tool_result: { call_id: { type: 'string', minLength: 1 } },
} as const;

/** Fields that may be absent from a block of a known type, and have a type when they are there. */
const looseFields = { tool_type: { type: 'string' }, status: { type: 'string' }, is_error: { type: 'boolean' } };
const fieldsOf: Readonly<Record<string, readonly (keyof typeof looseFields)[]>> = {
  tool_call: ['tool_type'],
  remote_tool_call: ['tool_type'],
  tool_result: ['status', 'is_error'],
};

export const Block = Type.Unsafe<{ type: string; [key: string]: unknown }>({
  title: 'Block',
  type: 'object',
  required: ['type'],
  properties: { type: { type: 'string', minLength: 1 } },
  allOf: Object.entries(knownBlocks).map(([type, fields]) => ({
    if: { required: ['type'], properties: { type: { const: type } } },
    then: {
      required: Object.keys(fields),
      properties: {
        ...fields,
        ...Object.fromEntries((fieldsOf[type] ?? []).map((field) => [field, looseFields[field]])),
      },
    },
  })),
});

/** A message as a caller sends it. */
export const NewMessage = record('NewMessage', {
  message_id: Type.Optional(NewId),
  role: words(roles),
  content: Type.Unsafe<string | Static<typeof Block>[]>({
    type: ['string', 'array'],
    items: Block,
    maxItems: sizes.blocks,
  }),
  tools_calls: Type.Optional(Type.Array(Type.Unknown(), { maxItems: sizes.blocks })),
  metadata: Type.Optional(JsonObject),
  timestamp: Type.Optional(Timestamp),
});
export type NewMessage = Static<typeof NewMessage>;

/** The messages of one request. */
export const NewMessages = Type.Array(NewMessage, { minItems: 1, maxItems: sizes.messages });

/** The input of a run: empty only where it answers a question. */
export const RunMessages = Type.Array(NewMessage, { maxItems: sizes.messages });

/** A message as it stands in the log. */
export const Message = record('Message', {
  message_id: Type.String(),
  role: words(roles),
  content: Type.Array(Block),
  tools_calls: Type.Optional(Type.Array(Type.Unknown())),
  metadata: Type.Optional(JsonObject),
  timestamp: Timestamp,
});

export const MessageParams = Type.Object({ thread_id: Id, message_id: Id });

export const MessagesQuery = Type.Object({ search: Type.Optional(Type.String()), ...paging });

export const AddMessages = record('AddMessagesRequest', {
  messages: NewMessages,
  config: Type.Optional(JsonObject),
  metadata: Type.Optional(JsonObject),
});

export const MessageList = record('MessageList', { messages: Type.Array(Message), cursor: Type.Optional(Cursor) });
export const OneMessage = record('OneMessage', { message: Message });
export const AddedMessages = record('AddedMessages', {
  messages: Type.Array(Message),
  success: Done.properties.success,
  message: Type.String(),
});
