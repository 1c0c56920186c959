import { userIdOf } from '@agent-workflow/kit/ids';
import { isServiceError, notFound, undefinedIfNotFound } from '@agent-workflow/kit/errors';
import { sizes } from '@agent-workflow/kit/sizes';
import type { AnswerQuestionReply, Question } from '@agent-workflow/protos/threads';
import { invalidAt } from '../../../http/fields.ts';
import { jsonObject, jsonText, textOrNull, timeText } from '../../../http/json.ts';
import { boundedBytes } from '../../common/bounded.ts';
import { addressesOf, answererOf, mayAnswer, principalOf } from '../../common/questions.ts';
import * as examples from '../examples/questions.ts';
import { maxLimit } from '../schemas/common.ts';
import { AnsweredQuestion, AnswerInput, QuestionList, QuestionParams, QuestionsQuery } from '../schemas/questions.ts';
import { endpoint } from './common/endpoint.ts';
import { nextPage } from './common/page.ts';

/** A question as JSON text of a reply to this caller. */
const questionText =
  (caller: string) =>
  (question: Question): string =>
    jsonObject({
      question_id: JSON.stringify(question.questionId),
      asked_for: textOrNull(userIdOf(question.owner)),
      thread_id: JSON.stringify(question.threadId),
      thread_title: textOrNull(question.threadTitle),
      run_id: JSON.stringify(question.runId),
      agent: JSON.stringify(question.agent),
      node: JSON.stringify(question.node),
      value: jsonText(question.valueJson),
      to: JSON.stringify(question.to),
      not_owner: String(question.notOwner),
      quorum: String(question.quorum),
      answers: String(question.answeredBy.length),
      answered: String(question.answeredBy.includes(caller)),
      asked_at: timeText(question.askedAt),
      ...(question.deadline !== undefined && { deadline: timeText(question.deadline) }),
      ...(question.defaultJson && { default: jsonText(question.defaultJson) }),
    });

/** The open questions of all owners that the caller may answer. */
export const listQuestions = endpoint({
  name: 'listQuestions',
  tag: 'questions',
  summary: 'List the questions of others that the caller may answer',
  description:
    'The open questions of runs of all owners that are addressed to a role of the caller, in pages, of the newest 10,000 of them. Questions to the owner alone are in `GET /v1/inbox`. A page may hold fewer questions than `limit` although there are more: continue with `cursor`.',
  example: examples.listQuestions,
  method: 'GET',
  path: '/v1/questions',
  access: { resource: 'checkpointer', action: 'read' },
  input: QuestionsQuery,
  reply: QuestionList,
  handle: async ({ owner, roles, input, call }, { threads, access }) => {
    const { agent, sort, limit, cursor: after } = input;
    const page = await threads.listQuestions(
      {
        roles: addressesOf(access, roles),
        limit: Math.min(limit, maxLimit),
        ...(sort === 'deadline' && { byDeadline: true }),
        ...(agent !== undefined && { agent }),
        ...(after !== undefined && { cursor: after }),
      },
      call(),
    );
    const caller = { owner, ...(roles && { roles }) };
    const shown = page.questions
      .filter((question) => mayAnswer(access, caller, question))
      .map(questionText(principalOf(owner)));
    return jsonObject({ questions: `[${shown.join(',')}]`, ...nextPage(page.cursor) });
  },
});

/** Answers one question, and does nothing else. */
export const answerQuestion = endpoint({
  name: 'answerQuestion',
  tag: 'questions',
  summary: 'Answer a question of another owner’s run',
  description:
    'Notes the answer of the caller. The answer that completes the quorum lets the run go on as its owner, with what it was given; one that differs from those before lets it go on without an answer. The same answer again is one answer. 404 for a question that is not open, or that the caller may not answer; 409 for a second answer that is another one, and when the question was answered meanwhile.',
  example: examples.answerQuestion,
  method: 'POST',
  path: '/v1/questions/{question_id}/answer',
  access: { resource: 'graph', action: 'invoke' },
  params: QuestionParams,
  input: AnswerInput,
  reply: AnsweredQuestion,
  handle: async (request, { threads, execution, access }) => {
    const { params, input, requestId, newId, idempotency, call } = request;
    const { question_id: questionId } = params;
    if (input.answer === undefined) throw invalidAt(['body', 'answer'], 'is required', 'missing');
    const answerJson = boundedBytes(input.answer, ['body', 'answer'], sizes.resume);
    const question = await undefinedIfNotFound(threads.getQuestion({ questionId }, call()));
    const isOpen = question !== undefined && mayAnswer(access, request, question);
    if (!question || !(isOpen || question.isClosed)) throw noQuestion(questionId);
    const { owner, threadId, interruptId } = question;
    const { by, client } = answererOf(request);
    const answer = { owner, threadId, interruptId, runId: newId('run'), requestId, by, client, answerJson };
    const given = { ...answer, ...idempotency, ...(!isOpen && { onlyRepeated: true }) };
    const reply = await execution.answerQuestion(given, call()).catch((error: unknown) => {
      // Who has not answered it learns nothing of a question that is closed.
      throw !isOpen && isServiceError(error, 'Conflict') ? noQuestion(questionId) : error;
    });
    return JSON.stringify(answeredOf(questionId, reply));
  },
});

const noQuestion = (id: string): Error => notFound(`question "${id}" does not exist`);

const answeredOf = (questionId: string, { answers, quorum, differs, runId }: AnswerQuestionReply): object => ({
  ...{ question_id: questionId, status: differs ? 'differs' : runId === undefined ? 'waiting' : 'answered' },
  ...{ answers, quorum },
});
