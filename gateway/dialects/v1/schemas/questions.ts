import { Type } from '../../common/builders.ts';
import { reason } from './admin.ts';
import {
  Cursor,
  described,
  flag,
  Id,
  Json,
  limitOf,
  nullable,
  objectOf,
  paged,
  runId,
  text,
  threadId,
  time,
  words,
} from './common.ts';

export const QuestionParams = Type.Object({ question_id: described(Id, 'The question') });

export const QuestionsQuery = Type.Object({
  agent: Type.Optional(text('Only questions of this agent')),
  sort: words(['asked', 'deadline'], {
    description: 'Which come first',
    meanings: {
      asked: 'those that wait longest',
      deadline: 'those whose deadline is next; those without one come last',
    },
    default: 'asked',
  }),
  limit: limitOf(100),
  cursor: Type.Optional(
    described(
      Cursor,
      'The `cursor` of the page before. It belongs to the list of the same filters and roles: elsewhere it is 422.',
    ),
  ),
});

const Question = objectOf('Question', 'An open question of a run that others than its owner answer.', {
  question_id: text('The id under which it is answered'),
  asked_for: described(nullable(Type.String()), 'The owner of the run; `null` where nobody signs in'),
  thread_id: described(threadId, 'The thread of the run, which is its owner’s'),
  run_id: described(
    nullable(runId),
    'The run that asks; `null` in a fork, which asks what a run of another thread has asked',
  ),
  agent: text('The agent that asks'),
  node: text('The node that asks'),
  value: described(Json, 'What is asked, in a form of its own'),
  masked: Type.Optional(
    flag('`true` where the caller finds it as an admin alone: `value` is `null` then; else absent'),
  ),
  to: Type.Array(Type.String(), { description: 'The roles that it is addressed to' }),
  not_owner: flag('Whether the owner of the run may not answer'),
  quorum: Type.Integer({ minimum: 1, description: 'How many callers must give the same answer' }),
  answers: Type.Integer({ minimum: 0, description: 'How many have given it so far' }),
  answered: flag('Whether the caller is one of them'),
  asked_at: time('When it was asked'),
  deadline: Type.Optional(time('When the run goes on without an answer; absent: never')),
  default: Type.Optional(described(Json, 'The answer that counts from the deadline on; absent without one')),
});

export const QuestionList = objectOf('QuestionList', 'A page of open questions.', {
  questions: Type.Array(Question, { description: 'The questions' }),
  has_more: paged.has_more,
  cursor: paged.cursor,
  at_least: Type.Optional(flag('`true` when there are more than 10,000, or more than 500 of one owner; else absent')),
});

export const AnswerInput = objectOf('AnswerInput', 'An answer to a question, and nothing beside it.', {
  answer: described(Json, 'The answer, as the node takes it: any JSON of at most 1 MiB'),
  ...reason,
});

export const AnsweredQuestion = objectOf('AnsweredQuestion', 'What an answer has come to.', {
  question_id: text('The id of the question'),
  status: words(['waiting', 'answered', 'differs'], {
    description: 'Where the question stands',
    meanings: {
      waiting: 'it takes more answers',
      answered: 'it has all answers, and the run goes on',
      differs: 'the answers differ, and the run goes on without any',
    },
  }),
  answers: Type.Integer({ minimum: 0, description: 'How many have given the same answer' }),
  quorum: Type.Integer({ minimum: 1, description: 'How many must' }),
});
