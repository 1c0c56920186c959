import {
  BodyId,
  idGiven,
  described,
  flag,
  Json,
  JsonObject,
  nullable,
  paged,
  pagingByChange,
  pathThreadId,
  objectOf,
  text,
  threadId,
  words,
} from './common.ts';
import { Message } from './messages.ts';
import { Type } from '../../common/builders.ts';

export const ThreadParams = Type.Object({ thread_id: pathThreadId });

export const ThreadsQuery = Type.Object({
  search: Type.Optional(
    text(
      "Only threads whose name, id or metadata values hold this text, in upper or lower case, among the owner's 10,000 most recent",
    ),
  ),
  ...pagingByChange,
});

/** The optional input of a deletion; it does not change what is deleted. */
export const DeleteInput = Type.Object({
  config: Type.Optional(described(JsonObject, 'Accepted for clients that send it; it changes nothing')),
  options: Type.Optional(described(JsonObject, 'Accepted for clients that send it; it changes nothing')),
});

/** `config` of the routes of one thread; further keys are allowed. */
const ThreadConfig = objectOf('ThreadConfig', 'Names the thread again. Further fields are ignored.', {
  thread_id: Type.Optional(described(BodyId, 'May repeat the thread of the path; another one is 400')),
});

export const UpdateState = {
  ...objectOf('UpdateStateRequest', 'Fields of the state to change.', {
    config: described(ThreadConfig, 'Required, and may be empty'),
    state: described(
      JsonObject,
      'The fields to change, at most 2 MiB. `graph:StateSchema` lists the fields. What a replacement finds as it is changes nothing, so that a whole state can be sent back.',
    ),
    mode: words(['merge', 'replace'], {
      description: 'What happens to a field that is given',
      meanings: {
        merge:
          'one with a reducer is combined with what is there, as after a node, any other is replaced; messages of `context` are added',
        replace: 'its value is set, past its reducer; log and `context` stay, and another `context` is 422',
      },
      default: 'merge',
    }),
    checkpoint_id: Type.Optional(
      described(
        BodyId,
        'The `checkpoint_id` that was read with the state: 409 when the thread has moved on. Required for `replace`',
      ),
    ),
  }),
  allOf: [
    {
      if: { required: ['mode'], properties: { mode: { const: 'replace', description: 'A replacement' } } },
      then: { required: ['checkpoint_id'], properties: { checkpoint_id: idGiven('The checkpoint that was read') } },
    },
  ],
};

const threadFields = {
  thread_id: threadId,
  thread_name: described(
    nullable(Type.String()),
    'The name, `config.thread_name` of the run that made the thread; `null` without one',
  ),
  user_id: described(nullable(Type.String()), 'The id of the owner; `null` for the anonymous one'),
  metadata: described(nullable(JsonObject), '`config.metadata` of the run that made the thread; `null` without one'),
  created_at: described(nullable(Type.String({ format: 'date-time' })), 'When the thread was made. ISO 8601, UTC'),
  updated_at: described(nullable(Type.String({ format: 'date-time' })), 'When the thread changed last. ISO 8601, UTC'),
  run_id: described(nullable(Type.String()), 'The newest run of the thread; `null` when it had none'),
  agent: described(nullable(Type.String()), 'The agent of its runs; `null` before the first'),
};

const ThreadItem = objectOf('ThreadItem', 'A thread as lists show it.', threadFields);
export const ThreadList = objectOf('ThreadList', 'A page of threads.', {
  threads: Type.Array(ThreadItem, { description: 'The threads, most recently updated first' }),
  ...paged,
});
export const ThreadDetails = objectOf('ThreadDetails', 'A thread.', {
  ...threadFields,
  thread_data: Type.Object(
    { thread: described(ThreadItem, 'The thread') },
    { description: 'The same thread once more, where the reference client reads it' },
  ),
});
export const ThreadState = objectOf('ThreadState', 'The state of a thread.', {
  checkpoint_id: text('The checkpoint that the thread is at, for `checkpoint_id` of a write and of a fork'),
  agent: Type.Optional(text('The agent that the thread belongs to; absent before its first run')),
  state: Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    description: 'Every field of the graph by its name, with its default where nothing was stored',
    properties: {
      context: {
        type: 'array',
        items: Message,
        description: 'The messages that the model sees, oldest first: what was not summarised',
      },
      context_summary: {
        type: 'string',
        description: 'The summary of the messages that are no longer in `context`; `""` without one',
      },
    },
    additionalProperties: Json,
  }),
  context_truncated: Type.Optional(
    flag('`true` when `state.context` holds only the newest messages, as many as fit the reply; else absent'),
  ),
});
