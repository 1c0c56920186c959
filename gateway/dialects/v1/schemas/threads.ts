import {
  BodyId,
  count,
  idGiven,
  described,
  flag,
  givenTime,
  Json,
  JsonObject,
  nullable,
  paged,
  paging,
  pagingByChange,
  pathThreadId,
  objectOf,
  text,
  threadId,
  time,
  ttl,
  words,
} from './common.ts';
import { Message } from './messages.ts';
import { threadSorts, threadStatuses, waitsFor } from '@agent-workflow/protos/lists';
import { Type } from '../../common/builders.ts';
import { Interrupt } from './graph.ts';

export const ThreadParams = Type.Object({ thread_id: pathThreadId });

export const ThreadsQuery = Type.Object({
  search: Type.Optional(
    text(
      "Only threads whose name, title, id or metadata values hold this text, in upper or lower case, among the owner's 10,000 most recent",
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
export const ThreadConfig = objectOf('ThreadConfig', 'Names the thread again. Further fields are ignored.', {
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
    'The name: `config.thread_name` of the run that made the thread, or that of a later change; `null` without one',
  ),
  title: described(
    nullable(Type.String()),
    'What to call the thread: its name, else the first message of a user, on one line of at most 120 characters; `null` without either',
  ),
  user_id: described(nullable(Type.String()), 'The id of the owner; `null` for the anonymous one'),
  metadata: described(
    nullable(JsonObject),
    '`config.metadata` of the run that made the thread, and later changes; `null` without one',
  ),
  created_at: described(nullable(Type.String({ format: 'date-time' })), 'When the thread was made. ISO 8601, UTC'),
  updated_at: described(nullable(Type.String({ format: 'date-time' })), 'When the thread changed last. ISO 8601, UTC'),
  run_id: described(nullable(Type.String()), 'The newest run of the thread; `null` when it had none'),
  agent: described(nullable(Type.String()), 'The agent of its runs; `null` before the first'),
};

const statusMeanings = {
  queued: 'a run holds the thread and waits for a worker',
  running: 'a run is under way',
  sleeping: 'a run waits for a time',
  interrupted: 'no run holds it, and it waits for what `waits_for` says',
  failed: 'no run holds it, and its newest run failed',
  idle: 'none of these',
};
export const ThreadStatus = words(threadStatuses, {
  title: 'ThreadStatus',
  description: 'What happens on a thread',
  meanings: statusMeanings,
});
const waitsForMeanings = {
  answer: 'answers to open questions',
  tool_results: 'results of tools that the caller runs',
};
const WaitsFor = words(waitsFor, {
  description: 'What an interrupted thread waits for; else absent',
  meanings: waitsForMeanings,
});

/** What is shown of a thread that was read by itself. */
const stateFields = {
  status: Type.Optional(described(ThreadStatus, 'What happens on the thread; absent in `GET /v1/threads`')),
  waits_for: Type.Optional(WaitsFor),
  ttl: Type.Optional(ttl('How long the thread is kept after its last change; absent: as the service is set')),
};

export const ThreadItem = objectOf('ThreadItem', 'A thread as lists show it.', { ...threadFields, ...stateFields });
export const ThreadList = objectOf('ThreadList', 'A page of threads.', {
  threads: Type.Array(ThreadItem, { description: 'The threads, most recently updated first' }),
  ...paged,
});
export const ThreadDetails = objectOf('ThreadDetails', 'A thread.', {
  ...threadFields,
  ...stateFields,
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

export const UpdateThread = objectOf('UpdateThreadRequest', 'What changes; what is absent stays.', {
  thread_name: Type.Optional(
    described(
      nullable(Type.String({ maxLength: 1024 })),
      'The new name, at most 1,024 characters; `null` removes the name',
    ),
  ),
  metadata: Type.Optional(
    described(
      nullable(JsonObject),
      'Keys to set; those that are `null` are removed, all others stay. `null` removes all metadata. At most 256 KiB together',
    ),
  ),
  ttl: Type.Optional(
    described(
      nullable(ttl('How long the thread is kept after its last change')),
      'How long the thread is kept after its last change, this one included, in seconds, a minute to ten years; `null`: as the service is set',
    ),
  ),
});

/** The threads that one request names, and the keys of an object that threads are compared with, at most. */
const namedAtOnce = 100;
const comparedKeys = 20;

const filterFields = {
  thread_ids: Type.Optional(
    Type.Array(BodyId, {
      minItems: 1,
      maxItems: namedAtOnce,
      description: `Only these threads, however old; 1 to ${String(namedAtOnce)}`,
    }),
  ),
  search: Type.Optional(
    Type.String({
      maxLength: 1024,
      description: 'Only threads whose name, title, id or metadata values hold this text, in upper or lower case',
    }),
  ),
  agent: Type.Optional(text('Only threads of this agent')),
  status: Type.Optional(
    Type.Unsafe<(typeof threadStatuses)[number] | (typeof threadStatuses)[number][]>({
      anyOf: [ThreadStatus, { type: 'array', items: ThreadStatus, minItems: 1, maxItems: threadStatuses.length }],
      description: 'Only threads of this status, or of one of these',
    }),
  ),
  waits_for: Type.Optional(
    words(waitsFor, { description: 'Only interrupted threads that wait for this', meanings: waitsForMeanings }),
  ),
  created_from: Type.Optional(givenTime('Only threads made at this time or later', 'any')),
  created_to: Type.Optional(givenTime('Only threads made before this time', 'any')),
  updated_from: Type.Optional(givenTime('Only threads that changed last at this time or later', 'any')),
  updated_to: Type.Optional(givenTime('Only threads that changed last before this time', 'any')),
  metadata: Type.Optional(
    Type.Unsafe<Record<string, unknown>>({
      type: 'object',
      additionalProperties: true,
      maxProperties: comparedKeys,
      description: `Only threads whose metadata contains this: of an object these keys, of a list these items in any order, anything else equal; at most ${String(comparedKeys)} keys`,
    }),
  ),
  values: Type.Optional(
    Type.Unsafe<Record<string, unknown>>({
      type: 'object',
      additionalProperties: { type: ['string', 'number', 'boolean', 'null'] },
      maxProperties: comparedKeys,
      description: `Only threads whose state has each of these fields stored with this text, number, boolean or null; at most ${String(comparedKeys)}`,
    }),
  ),
};

export const CountThreads = objectOf(
  'CountThreadsRequest',
  "Which of the owner's 10,000 most recent threads are counted.",
  filterFields,
);

/** What a search can be asked to show. */
export const selectable = [
  ...Object.keys(threadFields),
  ...['status', 'waits_for', 'ttl', 'interrupts', 'values'],
] as readonly string[];

const sortMeanings = {
  updated_at: 'the last change',
  created_at: 'the time at which the thread was made',
  thread_name: 'the name, by its code units',
  thread_id: 'the id',
  status: 'the status, by its name',
};

export const SearchThreads = objectOf(
  'SearchThreadsRequest',
  "Which of the owner's 10,000 most recent threads are given, in which order, and what is shown of them.",
  {
    ...filterFields,
    sort_by: words(threadSorts, {
      description: 'What the order follows',
      meanings: sortMeanings,
      default: 'updated_at',
    }),
    sort_order: words(['asc', 'desc'], {
      description: 'The direction of the order',
      meanings: { asc: 'the smallest or oldest first', desc: 'the largest or newest first' },
      default: 'desc',
    }),
    select: Type.Optional(
      Type.Array(Type.Unsafe<string>({ type: 'string', enum: [...selectable] }), {
        minItems: 1,
        maxItems: selectable.length,
        description: 'The fields to show of each thread; all but `interrupts` and `values` unless given',
      }),
    ),
    ...paging,
  },
);

const atLeast = Type.Optional(
  flag(
    '`true` when older threads were not looked at: beyond 10,000 of them, or beyond 256 MiB of the values of a filter; else absent',
  ),
);

const interrupts = Type.Optional(
  Type.Array(Interrupt, { description: 'The questions that the thread waits to be answered; absent without any' }),
);

export const FoundThreads = objectOf('FoundThreads', 'A page of the threads that were found.', {
  threads: Type.Array(
    objectOf('FoundThread', 'A thread that was found, with the fields that were selected.', {
      ...Object.fromEntries(Object.entries(threadFields).map(([name, schema]) => [name, Type.Optional(schema)])),
      ...stateFields,
      interrupts,
      values: Type.Optional(
        described(
          JsonObject,
          'The stored fields of the state, without `context`; a default that was never stored is left out',
        ),
      ),
    }),
    { description: 'The threads, in the order that was asked for' },
  ),
  ...paged,
  at_least: atLeast,
});

export const ThreadCount = objectOf('ThreadCount', 'How many threads were found.', {
  count: count('The number of threads'),
  at_least: atLeast,
});

export const InboxQuery = Type.Object({
  agent: Type.Optional(text('Only threads of this agent')),
  ...pagingByChange,
});

export const Inbox = objectOf('Inbox', 'A page of what waits for a person.', {
  items: Type.Array(
    objectOf('InboxItem', 'A thread with the questions that wait for an answer.', {
      thread_id: threadFields.thread_id,
      thread_name: threadFields.thread_name,
      title: threadFields.title,
      agent: threadFields.agent,
      metadata: threadFields.metadata,
      run_id: described(
        nullable(Type.String()),
        'The run that asked; `null` where it is no longer on record, and in a fork, which asks what a run of another thread has asked',
      ),
      waiting_since: time('When it asked'),
      interrupts: Type.Array(Interrupt, { description: 'The open questions' }),
    }),
    { description: 'The threads that wait, the newest first' },
  ),
  ...paged,
  at_least: atLeast,
});
