import { sizes } from '@agent-workflow/kit/sizes';
import { blockRules, roles, type BlockFieldType } from '@agent-workflow/protos/message';
import type { Static, TSchema } from 'typebox';
import {
  described,
  Done,
  givenTime,
  Id,
  JsonObject,
  NewId,
  paged,
  paging,
  pathThreadId,
  objectOf,
  text,
  time,
  withMeanings,
  words,
} from './common.ts';
import { Type } from '../../common/builders.ts';

/** The JSON Schema of each type that a field of a block may have. */
const fieldSchemas: Readonly<Record<BlockFieldType, object>> = {
  string: { type: 'string' },
  name: { type: 'string', minLength: 1 },
  boolean: { type: 'boolean' },
  object: { type: 'object', additionalProperties: true },
  array: { type: 'array', items: { description: 'One of them, in the form of its provider' } },
};

const callFields = {
  id: 'The id of the call, which its result names as `call_id`',
  name: 'The name of the tool',
  args: 'The arguments of the call',
  tool_type: 'The kind of the tool, as the graph names it',
};

/** What each field of a block of a known type holds. */
const fieldMeanings: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  text: { text: 'The text' },
  reasoning: {
    text: 'What the model thought',
    summary: 'A summary of what the model thought',
    details: 'What the model thought, in the parts that its provider gave',
  },
  error: { message: 'What went wrong' },
  tool_call: callFields,
  remote_tool_call: callFields,
  tool_result: {
    call_id: 'The `id` of the call that this answers',
    status: 'How the call ended, as the tool says it',
    is_error: 'Whether the tool failed; default `false`',
  },
};

const toSchemas = (type: string, fields: Readonly<Record<string, BlockFieldType>>): Record<string, object> =>
  Object.fromEntries(
    Object.entries(fields).map(([name, kind]) => [
      name,
      { ...fieldSchemas[kind], description: fieldMeanings[type]?.[name] ?? '' },
    ]),
  );

const blockTypes = {
  text: 'text',
  image: 'an image',
  audio: 'a sound',
  video: 'a film',
  document: 'a document',
  data: 'data of any kind',
  reasoning: 'what a model thought',
  annotation: 'a remark, as a source',
  error: 'an error of a model or of a tool',
  tool_call: 'a call of a tool that the service runs',
  remote_tool_call: 'a call of a tool that the caller runs; the run is interrupted until its result is there',
  tool_result: 'the result of a call',
} as const;

const Block = Type.Unsafe<{ type: string; [key: string]: unknown }>({
  title: 'Block',
  description:
    'One part of the content of a message. `file_id` names an uploaded file of the caller. Fields that are not listed are kept as they came.',
  type: 'object',
  required: ['type'],
  properties: {
    type: {
      type: 'string',
      minLength: 1,
      description: `${withMeanings('What the block is', blockTypes)}\n\nA block of another type is kept as it came.`,
    },
  },
  // Generated types have no other way to its fields: they do not read `allOf` with conditions.
  additionalProperties: true,
  allOf: Object.entries(blockRules).map(([type, { required, optional, oneOf }]) => ({
    if: { required: ['type'], properties: { type: { const: type, description: `A block of type \`${type}\`` } } },
    then: {
      required: Object.keys(required),
      properties: { ...toSchemas(type, required), ...toSchemas(type, optional) },
      // With the type of each field, so that null counts as absence here too.
      ...(oneOf && {
        anyOf: oneOf.map((name) => ({
          required: [name],
          properties: toSchemas(type, { [name]: optional[name] ?? 'string' }),
        })),
      }),
    },
  })),
});

const role = words(roles, {
  description: 'Who speaks',
  meanings: {
    user: 'the person or program that calls',
    assistant: 'the agent',
    system: 'instructions for the model',
    tool: 'the results of tool calls',
  },
});

/** Its use is left to the graph: the service neither reads nor makes it. */
const calls = (options: object) =>
  Type.Array(Type.Unknown({ description: 'A call, in the form of its provider' }), {
    description: 'Tool calls in the form of a model provider, kept as they came. The service reads only blocks.',
    ...options,
  });

/** A message as a caller sends it. */
const NewMessage = objectOf(
  'NewMessage',
  `A message as a caller sends it; at most 2 MiB. Fields that are not listed are kept.`,
  {
    message_id: Type.Optional(
      described(NewId, 'The id of the message. A message of the thread that has this id is replaced in place.'),
    ),
    role,
    content: Type.Unsafe<string | Static<typeof Block>[]>({
      type: ['string', 'array'],
      items: Block,
      maxItems: sizes.blocks,
      description: 'A text, which becomes one block of type `text`, or at most 1,000 blocks',
    }),
    tools_calls: Type.Optional(calls({ maxItems: sizes.blocks })),
    metadata: Type.Optional(described(JsonObject, 'What the caller notes about the message; models do not see it')),
    timestamp: Type.Optional(givenTime('When the message was written', 'now')),
  },
);

/** The messages of one request. */
const NewMessages = Type.Array(NewMessage, {
  minItems: 1,
  maxItems: sizes.messages,
  description: 'The messages in their order, 1 to 1,000, together at most 5 MiB; no two with the same id',
});

/** The messages of a run: empty only together with `resume` or `initial_state`. */
export const RunMessages = Type.Array(NewMessage, {
  maxItems: sizes.messages,
  description:
    'What is new for the agent, at most 1,000 messages. The thread keeps the conversation; what is sent of it again under its ids is replaced in place. Empty or absent only together with `resume` or `initial_state`',
});

/** A message of the log. */
export const Message = objectOf('Message', 'A message of a thread.', {
  message_id: text('The id of the message, unique in its thread'),
  role,
  content: Type.Array(Block, { description: 'The parts of the message, in their order' }),
  tools_calls: Type.Optional(calls({})),
  metadata: Type.Optional(described(JsonObject, 'What was noted about the message; absent without any')),
  timestamp: time('When the message was written'),
  checkpoint_id: Type.Optional(
    text(
      'In lists of messages and in a single message: the checkpoint of the step, input, write or rollback that put the message last. A fork from it ends after what was put with the message; of a message that was sent again under its id, after all that the thread held by then. Absent when it is not known, as in forks of threads. A fork from a checkpoint that is no longer kept is 404. In requests it is ignored.',
    ),
  ),
});

export const MessageParams = Type.Object({ thread_id: pathThreadId, message_id: described(Id, 'The message') });

export const MessagesQuery = Type.Object({
  search: Type.Optional(text('Only messages whose text holds this text, in upper or lower case')),
  order: words(['asc', 'desc'], {
    description: 'The order of the list; `offset` and `cursor` count in it',
    meanings: { asc: 'the oldest first', desc: 'the newest first' },
    default: 'asc',
  }),
  ...paging,
});

export const AddMessages = objectOf('AddMessagesRequest', 'Messages for a thread.', {
  messages: NewMessages,
  config: Type.Optional(described(JsonObject, 'Accepted for clients that send it; it changes nothing')),
  metadata: Type.Optional(described(JsonObject, 'The metadata of the checkpoint that this makes; at most 256 KiB')),
});

const messagesOf = (description: string): TSchema => Type.Array(Message, { description });

export const MessageList = objectOf('MessageList', 'A page of messages.', {
  messages: messagesOf('The messages, in the order asked for'),
  ...paged,
});
export const OneMessage = objectOf('OneMessage', 'A message; its fields stand beside `message` once more.', {
  ...Message.properties,
  message: described(Message, 'The message'),
});
export const AddedMessages = objectOf('AddedMessages', 'The messages as they are stored.', {
  messages: messagesOf('The messages with their ids and times'),
  success: Done.properties.success,
  message: text('What happened, for people'),
});
