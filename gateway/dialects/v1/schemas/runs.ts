import { runStatuses } from '@agent-workflow/protos/lists';
import { PartRefusal, whyCodeFailed } from './errors.ts';
import {
  AgentName,
  BodyId,
  idGiven,
  count,
  Cursor,
  described,
  flag,
  Id,
  JsonObject,
  paged,
  paging,
  nullable,
  objectOf,
  oneOfNeeded,
  runId,
  text,
  threadId,
  time,
  words,
  type Meanings,
} from './common.ts';
import { StreamModes } from './events.ts';
import { Usage } from './usage.ts';
import { Type } from '../../common/builders.ts';

export const RunParams = Type.Object({ run_id: described(Id, 'The run') });

/** What each status of a run means to a caller. */
export const runStatusMeanings: Meanings<typeof runStatuses> = {
  queued: 'waits for its thread or for a worker',
  running: 'a worker executes it',
  sleeping: 'waits for the time in `wake_at`',
  interrupted: 'has ended with open questions or tool calls; the next run of the thread that answers them continues it',
  completed: 'has ended with a result',
  failed: 'has ended with an error; what was committed before stays',
  stopped: 'was stopped by a caller or by another run; what was committed before stays',
};

const shownStatuses = ['scheduled', ...runStatuses] as const;

/** Of a run that may not have started. */
const shownStatus = words(shownStatuses, {
  description: 'Where the run stands',
  meanings: { scheduled: 'starts at `start_at`, and is on no thread until then', ...runStatusMeanings },
});

const startAt = Type.Optional(time('When a scheduled run starts; absent for any other'));

const status = words(runStatuses, { description: 'Where the run stands', meanings: runStatusMeanings });

/** The reply when a run is accepted. */
export const AcceptedRun = objectOf('AcceptedRun', 'A run that is on record and goes on without its caller.', {
  run_id: runId,
  thread_id: described(threadId, 'The id of the thread, which is new when `config.thread_id` named none'),
  status: shownStatus,
  start_at: startAt,
});

export const AcceptedRuns = objectOf('AcceptedRuns', 'What became of the runs of a batch.', {
  runs: Type.Array(
    objectOf('AcceptedOrRefused', 'A run that is on record, or why it is not.', {
      run_id: Type.Optional(described(runId, 'The id of the run; absent when it was refused')),
      thread_id: Type.Optional(described(threadId, 'The id of its thread; absent when it was refused')),
      status: Type.Optional(described(shownStatus, 'Where the run stands; absent when it was refused')),
      start_at: startAt,
      error: Type.Optional(described(PartRefusal, 'Why the run was refused; absent when it is on record')),
    }),
    { description: 'In the order of the request' },
  ),
});

export const RunError = objectOf('RunError', 'Why a run failed.', {
  code: text('Why, as a stable word: one of the codes of errors, mostly `NODE_ERROR`'),
  message: text('Why, for people'),
  node: Type.Optional(text('The node that failed; absent when none did')),
  ...whyCodeFailed,
  thrown: Type.Optional(
    text('The class of what code of the agent threw, as `TypeError`; absent where it has no plain name'),
  ),
});

export const Run = objectOf('Run', 'A run.', {
  run_id: runId,
  thread_id: threadId,
  thread_title: described(
    nullable(Type.String()),
    'What to call its thread: `title` of the thread; `null` without one',
  ),
  agent: text('The agent that runs it; `default` where agents have no names'),
  revision: Type.Optional(
    text(
      'The revision of the agent that serves it; absent where the agent is not registered, and while the run waits for another of its thread',
    ),
  ),
  status: shownStatus,
  start_at: startAt,
  created_at: time('When the run was accepted'),
  updated_at: time('When the run changed last'),
  started_at: Type.Optional(
    time('When a worker began with it; absent before that, and of runs of releases that did not note it'),
  ),
  ended_at: Type.Optional(time('When it ended; absent until then')),
  resumes: Type.Optional(
    text(
      'The interrupted run that this one continues, or the failed one that it tries again; absent when there is none',
    ),
  ),
  resumed_by: Type.Optional(
    text('Of an interrupted run: the run that answers what this one asked; absent while none was accepted'),
  ),
  answered_by: Type.Optional(
    Type.Array(
      objectOf('Answerer', 'Who answered a question.', {
        by: text('The id of the principal'),
        at: time('When'),
        client: text('The protocol of the client: `v1`, `langgraph`, `mcp` and so on'),
        key: Type.Optional(text('The id of the API key by which they came; absent where they came by none')),
      }),
      {
        description:
          'Who gave the answers that the run brings, of several in the order of their answers; absent in lists, and where it brings none',
      },
    ),
  ),
  deadline: Type.Optional(
    time('When an interrupted run goes on without an answer: the first deadline of its questions, while that counts'),
  ),
  priority: Type.Optional(count('How early it is taken among the waiting runs of its owner; absent when it is 0')),
  wake_at: Type.Optional(time('When a sleeping run continues; absent for any other')),
  usage: Type.Optional(described(Usage, 'The tokens that the run has taken; absent when it took none')),
  iterations: Type.Optional(count('The largest number of times that any one node ran; absent until the run has ended')),
  recursion_limit_reached: Type.Optional(
    flag('Whether the run ended because it needed more iterations than `recursion_limit`; absent until it has ended'),
  ),
  nodes: Type.Optional(
    Type.Array(Type.String(), {
      description:
        'Where it stands: the nodes that run or come next, or at which its thread waits; at most ten. Absent at the start, and when it has ended otherwise',
    }),
  ),
  question: Type.Optional(
    text(
      'The first question that its thread waits to be answered, on one line of at most 120 characters; absent without one that is asked in words',
    ),
  ),
  error: Type.Optional(described(RunError, 'Why the run failed; absent for any other')),
});

export const RunList = objectOf('RunList', 'A page of runs.', {
  runs: Type.Array(Run, { description: 'The runs, newest first' }),
  ...paged,
});

export const RunsQuery = Type.Object({ ...paging });

export const ChainQuery = Type.Object({
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 20, description: 'The most runs of the reply' }),
});

export const RunChain = objectOf('RunChain', 'A run and those that answer it.', {
  runs: Type.Array(Run, { description: 'The run, the one that answers it, and so on' }),
  has_more: flag('Whether the last of them is answered, too: its own chain continues this one'),
});

export const OwnRunList = objectOf('OwnRunList', 'A page of the runs of all threads.', {
  runs: Type.Array(Run, { description: 'The runs, newest first' }),
  has_more: flag('Whether there may be more: continue with `cursor`, also when this page has no run'),
  cursor: paged.cursor,
});

/** A text by which runs are found, in characters. */
const soughtLength = 1024;

const sought = (description: string) => Type.String({ minLength: 1, maxLength: soughtLength, description });
const duration = (description: string) =>
  Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: `${description}, in milliseconds` });

/** Which runs are listed, and counted. */
export const runFilters = {
  agent: Type.Optional(described(AgentName, 'Only runs of this agent. Default: of all')),
  status: Type.Optional(
    Type.Array(status, {
      minItems: 1,
      maxItems: runStatuses.length,
      description: 'Only runs with one of these statuses: `status=queued,running`. Default: all',
    }),
  ),
  from: Type.Optional(time('Only runs that were accepted at this time or later')),
  to: Type.Optional(time('Only runs that were accepted before this time')),
  revision: Type.Optional(sought('Only runs that this revision of their agent serves')),
  node: Type.Optional(
    sought('Only runs that failed at this node, or stand at it: it runs, comes next, or waits for an answer'),
  ),
  error: Type.Optional(sought('Only failed runs whose `error.message` holds this text, in upper or lower case')),
  search: Type.Optional(
    sought(
      'Only runs with this text in the error, in the title of the thread, or in the id of run or thread, in upper or lower case',
    ),
  ),
  min_duration_ms: Type.Optional(
    duration(
      'Only runs that took this long or longer, or have taken so far, from `started_at`, else from `created_at`',
    ),
  ),
  max_duration_ms: Type.Optional(duration('Only runs that took no longer than this')),
};

/** Without `offset`: what it leaves out would have to be read, and a page reads a bounded number of runs. */
export const OwnRunsQuery = Type.Object({
  limit: paging.limit,
  cursor: Type.Optional(
    described(
      Cursor,
      'The `cursor` of the page before. It continues after the last run of that page, also when others start runs. It belongs to the list of the same filters: elsewhere it is 422.',
    ),
  ),
  ...runFilters,
});

export const RunCountsQuery = Type.Object({
  ...runFilters,
  timezone: Type.String({
    maxLength: 64,
    default: 'UTC',
    description: 'Whose days are counted: the name of a time zone, as `Europe/Berlin`',
  }),
});

const RunsByStatus = objectOf(
  'RunsByStatus',
  'How many runs there are of each status.',
  Object.fromEntries(
    runStatuses.map((name) => [name, Type.Optional(count(`Runs that are \`${name}\`; absent without any`))]),
  ),
);

export const RunCounts = objectOf('RunCounts', "How many of the owner's newest 10,000 runs pass the filters.", {
  total: count('How many there are'),
  counts: described(RunsByStatus, 'How many there are of each status'),
  days: Type.Array(
    objectOf('RunDay', 'A day on which runs were accepted.', {
      day: text('The day in `timezone`, as `2026-11-28`'),
      total: count('How many were accepted on this day'),
      counts: described(RunsByStatus, 'How many of these are of each status'),
    }),
    { description: 'The days that have runs, the oldest first' },
  ),
  timezone: text('The time zone of the days'),
  duration_ms: Type.Optional(
    described(
      objectOf('RunDurations', 'How long the runs took that have ended, in milliseconds.', {
        median: count('Half of them took no longer than this'),
        p95: count('95 of 100 took no longer than this'),
      }),
      'How long the runs took; absent while none has ended',
    ),
  ),
  at_least: Type.Optional(flag('`true` when older runs were not looked at; else absent')),
});

/** The event after which a stream continues, when there is no `Last-Event-ID`. */
export const StreamQuery = Type.Object({
  stream_modes: Type.Optional(StreamModes),
  after: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description:
        'Number of the last event that was seen; beyond the end of the log, only what comes after it is given. Default 0: from the start',
    }),
  ),
});

/** A ticket for the stream of one run. */
export const RunTicket = objectOf('RunTicket', 'A ticket for the stream of one run.', {
  ticket: text('The ticket, a secret. It is the query parameter `ticket` of `GET /v1/runs/{run_id}/stream`.'),
  expires_at: time('When the ticket expires, ten minutes after it was made'),
});

const stopped = {
  success: flag(
    'Whether this request stopped the run, or dropped what it asked others; `false` when it had ended before or there was none',
  ),
  run_id: Type.Unsafe<string | null>({ type: ['string', 'null'], description: 'The run; `null` when there was none' }),
  status: words([...runStatuses, 'idle'], {
    description: 'Where the run stands now',
    meanings: { ...runStatusMeanings, idle: 'the thread has no run under way' },
  }),
  message: text('What happened, for people'),
  dropped_questions: Type.Optional(
    Type.Array(Type.String(), {
      description: 'The questions to others that nobody answers any more, by `question_id`',
    }),
  ),
  partial: Type.Optional(
    flag('With `keep_partial`: whether text was kept; `false` when there was none, or it could not be'),
  ),
  partial_seq: Type.Optional(count('The number of the last event whose text was kept')),
  partial_message_ids: Type.Optional(
    Type.Array(Type.String(), { description: 'The messages that hold the text that was kept' }),
  ),
};

const keepPartial = Type.Optional(
  flag(
    'Whether the text that the step under way has streamed stays, as messages of the thread with `metadata.partial`. Default: `false`',
  ),
);

/** How a run is to be stopped. */
export const CancelInput = Type.Object({ keep_partial: keepPartial }, { description: 'How the run is stopped.' });

export const StoppedRun = objectOf('StoppedRun', 'What became of a run that was to be stopped.', stopped);
export const StoppedThread = objectOf('StoppedThread', 'What became of the run of a thread that was to be stopped.', {
  ...stopped,
  thread_id: threadId,
});

/** The thread whose run is to be stopped. */
export const StopInput = oneOfNeeded(
  objectOf('StopRequest', 'Names a thread, in one of two places.', {
    thread_id: Type.Optional(described(BodyId, 'The thread. This or `config.thread_id` is required.')),
    keep_partial: keepPartial,
    config: Type.Optional(
      described(
        objectOf('StopConfig', 'Names a thread. Further fields are ignored.', {
          thread_id: Type.Optional(described(BodyId, 'The thread, when it does not stand outside of `config`')),
        }),
        'The other place for the id of the thread',
      ),
    ),
  }),
  [
    { required: ['thread_id'], properties: { thread_id: idGiven('The thread') } },
    {
      required: ['config'],
      properties: {
        config: {
          type: 'object',
          required: ['thread_id'],
          properties: { thread_id: idGiven('The thread') },
          description: 'With the id of the thread',
        },
      },
    },
  ],
);

export const FixedThread = objectOf('FixedThread', 'What was removed from a thread, and its state after that.', {
  success: flag('Always `true`'),
  message: text('What happened, for people'),
  removed_count: count('How many messages were removed'),
  agent: Type.Optional(text('The agent that the thread belongs to; absent before its first run')),
  checkpoint_id: text('The checkpoint that the thread is at'),
  state: described(JsonObject, 'The whole state after that, as `GET /v1/threads/{thread_id}/state` gives it'),
});

export const NoInput = Type.Object({}, { description: 'No field is read.' });
