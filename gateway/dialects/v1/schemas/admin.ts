import { threadStatuses } from '@agent-workflow/protos/lists';
import { Type } from '../../common/builders.ts';
import {
  AgentName,
  Cursor,
  described,
  flag,
  Json,
  limitOf,
  nullable,
  objectOf,
  openObjectOf,
  text,
  threadId,
  time,
  words,
} from './common.ts';
import { Run, RunError, runFilters } from './runs.ts';
import { ThreadItem, ThreadStatus } from './threads.ts';

const UserId = Type.String({ minLength: 1, maxLength: 256, format: 'well-formed' });

/** Whose it is. */
const owner = {
  user_id: Type.Optional(described(UserId, 'The id of the owner; absent: the anonymous owner')),
};

/** Why somebody does it. */
export const reason = {
  reason: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 1000,
      format: 'well-formed',
      description:
        'Why: it stands in the audit, with who and what. Required where contents are shown, where a run is stopped or retried, and where an admin answers in place of a role. The header `X-Access-Reason` says it as well',
    }),
  ),
};

/** What is asked for beside what the owner would ask for. */
export const ownedBy = { ...owner, ...reason };

const show = {
  show: words(['masked', 'contents'], {
    description: 'How much is shown',
    meanings: {
      masked: 'without titles, names, metadata, questions and texts of errors',
      contents: 'with them: for a role that reads contents, with a `reason`, and a line of the audit',
    },
    default: 'masked',
  }),
};

const ofOwner = { user_id: Type.Optional(described(UserId, 'Only of this owner. Default: of all')) };

const page = {
  limit: limitOf(100),
  cursor: Type.Optional(
    described(
      Cursor,
      'The `cursor` of the page before. It belongs to the list of the same filters: elsewhere it is 422.',
    ),
  ),
};

const paged = {
  has_more: flag('Whether there may be more: continue with `cursor`, also when this page is empty'),
  cursor: Type.Optional(described(Cursor, 'Where the next page begins; absent on the last page')),
};

/** How a page of a list of everybody's ends. */
const pagedOfAll = {
  ...paged,
  at_least: Type.Optional(
    flag('`true` when the list ends because 10,000 runs are read, and there may be older ones; else absent'),
  ),
};

/** Both would find words of what is masked. */
const { search: _search, error: _error, ...filters } = runFilters;

export const AllRunsQuery = Type.Object({ ...page, ...ofOwner, ...filters });

const shownOwner = { user_id: described(nullable(Type.String()), 'The id of the owner; `null` for the anonymous one') };

const OwnedRunError = objectOf('OwnedRunError', 'Why a run of somebody failed.', {
  ...RunError.properties,
  message: described(nullable(Type.String()), 'Why, for people; `null` without `show=contents`'),
});

export const OwnedRun = openObjectOf('OwnedRun', 'A run, and whose it is.', {
  ...shownOwner,
  ...Run.properties,
  error: Type.Optional(described(OwnedRunError, 'Why the run failed; absent for any other')),
});

export const AllRunsList = objectOf('AllRunsList', 'A page of the runs of all owners.', {
  runs: Type.Array(OwnedRun, { description: 'The runs, newest first' }),
  ...pagedOfAll,
});

export const AllThreadsQuery = Type.Object({
  ...page,
  ...ofOwner,
  agent: Type.Optional(described(AgentName, 'Only threads of this agent. Default: of all')),
  status: Type.Optional(
    Type.Array(ThreadStatus, {
      minItems: 1,
      maxItems: threadStatuses.length,
      description: 'Only threads with one of these statuses: `status=failed,interrupted`. Default: all',
    }),
  ),
});

export const AllThreadsList = objectOf('AllThreadsList', 'A page of the threads of all owners.', {
  threads: Type.Array(ThreadItem, { description: 'The threads, by their newest run, newest first' }),
  ...pagedOfAll,
});

export const AllQuestionsQuery = Type.Object({
  ...page,
  ...ofOwner,
  agent: Type.Optional(described(AgentName, 'Only questions of this agent. Default: of all')),
  ...show,
  ...reason,
});

const OwnedQuestion = objectOf('OwnedQuestion', 'What a thread of somebody waits for.', {
  ...shownOwner,
  thread_id: threadId,
  run_id: text('The run that asks'),
  agent: text('Its agent'),
  nodes: Type.Array(Type.String(), { description: 'The nodes that ask; at most ten' }),
  waiting_since: time('Since when'),
  deadline: Type.Optional(time('When the run goes on without an answer; absent: never')),
  interrupts: Type.Optional(
    Type.Array(Json, { description: 'The questions with their values; only with `show=contents`' }),
  ),
});

export const AllQuestionsList = objectOf('AllQuestionsList', 'A page of what waits for somebody.', {
  questions: Type.Array(OwnedQuestion, { description: 'The questions, by their runs, newest first' }),
  ...pagedOfAll,
});

export const OneQuery = Type.Object({ ...owner, ...show, ...reason });

export const RunsOfOthersQuery = Type.Object({ ...page, ...owner });

export const AuditQuery = Type.Object({
  from: Type.Optional(time('Only lines from this time on. Default: a day before `to`')),
  to: Type.Optional(time('Only lines before this time. Default: now. At most 366 days after `from`')),
  before: Type.Optional(text('Only lines before the one with this `id`: the last of the page before')),
  limit: Type.Integer({ minimum: 1, maximum: 10_000, default: 1000, description: 'The most lines of the reply' }),
});

/** JSONL: the description is all that is used. */
export const AuditLines = Type.Unsafe<string>({
  type: 'string',
  description:
    'A line of JSON for each: `id`, `at`, `user_id` and `roles` (who), `key_id` (where they came by an API key), `action`, `operation`, `owner_id`, `run_id`, `thread_id` (what), `reason` (why), `request_id`. The newest first',
});
