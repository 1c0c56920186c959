import { userIdOf } from '@agent-workflow/kit/ids';
import { conflict, isServiceError, notFound, undefinedIfNotFound } from '@agent-workflow/kit/errors';
import { sizes } from '@agent-workflow/kit/sizes';
import type { AnswerQuestionReply, Question } from '@agent-workflow/protos/threads';
import type { Subject } from '../../../http/access.ts';
import { invalidAt } from '../../../http/fields.ts';
import { jsonObject, jsonText, textOrNull, timeText } from '../../../http/json.ts';
import { boundedBytes } from '../../common/bounded.ts';
import { addressesOf, answererOf, everyQuestion, findsAll, mayAnswer, principalOf } from '../../common/questions.ts';
import { mayTouchAll, touchable } from '../../common/touched.ts';
import * as examples from '../examples/questions.ts';
import { maxLimit } from '../schemas/common.ts';
import { AnsweredQuestion, AnswerInput, QuestionList, QuestionParams, QuestionsQuery } from '../schemas/questions.ts';
import { endpoint } from './common/endpoint.ts';
import { audit } from './common/others.ts';
import { nextPage } from './common/page.ts';

/** What the authorization backend is asked, also about each question. */
const questionAccess = {
  read: { resource: 'questions', action: 'read' },
  answer: { resource: 'questions', action: 'answer' },
} as const;

const subjectOf = ({ agent, threadId }: Question): Subject => ({ agent, thread_id: threadId });

/** Whether a question is to one of these addresses. Who may answer one that is to none of their own does so as an admin. */
const isTo = ({ to }: Question, addresses: ReadonlySet<string>): boolean => to.some((role) => addresses.has(role));

/** A question as JSON text of a reply to this caller. Who finds it as an admin alone reads what is asked where that leaves a line of the audit. */
const questionText =
  (caller: string, addresses: ReadonlySet<string>) =>
  (question: Question): string => {
    const isMasked = !isTo(question, addresses);
    return jsonObject({
      question_id: JSON.stringify(question.questionId),
      asked_for: textOrNull(userIdOf(question.owner)),
      thread_id: JSON.stringify(question.threadId),
      run_id: textOrNull(question.runId === '' ? undefined : question.runId),
      agent: JSON.stringify(question.agent),
      node: JSON.stringify(question.node),
      value: isMasked ? 'null' : jsonText(question.valueJson),
      ...(isMasked && { masked: 'true' }),
      to: JSON.stringify(question.to),
      not_owner: String(question.notOwner),
      quorum: String(question.quorum),
      answers: String(question.answeredBy.length),
      answered: String(question.answeredBy.includes(caller)),
      asked_at: timeText(question.askedAt),
      ...(question.deadline !== undefined && { deadline: timeText(question.deadline) }),
      ...(question.defaultJson && !isMasked && { default: jsonText(question.defaultJson) }),
    });
  };

/** The open questions of all owners that the caller may answer. */
export const listQuestions = endpoint({
  name: 'listQuestions',
  tag: 'questions',
  summary: 'List the questions of others that the caller may answer',
  description:
    'The open questions of runs of all owners that are addressed to a role of the caller, in pages, of the newest 10,000 of them and of the newest 500 of each owner: `at_least` says that there are more. An admin finds all, and those that are to none of their roles `masked`: `GET /v1/admin/questions` shows them. Questions to the owner alone are in `GET /v1/inbox`. A page may hold fewer questions than `limit` although there are more: continue with `cursor`.',
  example: examples.listQuestions,
  method: 'GET',
  path: '/v1/questions',
  access: questionAccess.read,
  input: QuestionsQuery,
  reply: QuestionList,
  handle: async (request, services) => {
    const { owner, roles, input, call } = request;
    const { threads, access } = services;
    const { agent, sort, limit, cursor: after } = input;
    const addresses = addressesOf(access, roles);
    const page = await threads.listQuestions(
      {
        roles: findsAll(access, roles) ? [everyQuestion] : addresses,
        limit: Math.min(limit, maxLimit),
        ...(sort === 'deadline' && { byDeadline: true }),
        ...(agent !== undefined && { agent }),
        ...(after !== undefined && { cursor: after }),
      },
      call(),
    );
    const own = page.questions.filter((question) => mayAnswer(access, request, question));
    const touched = await touchable(request, questionAccess.read, own, subjectOf, services);
    const named = new Set(access.signsIn ? addresses : touched.flatMap(({ to }) => to));
    const shown = touched.map(questionText(principalOf(owner), named));
    const whole = page.atLeast ? { at_least: 'true' } : {};
    return jsonObject({ questions: `[${shown.join(',')}]`, ...nextPage(page.cursor), ...whole });
  },
});

/** Answers one question, and does nothing else. */
export const answerQuestion = endpoint({
  name: 'answerQuestion',
  tag: 'questions',
  summary: 'Answer a question of another owner’s run',
  description:
    'Notes the answer of the caller. The answer that completes the quorum lets the run go on as its owner, with what it was given; one that differs from those before lets it go on without an answer. The same answer again is one answer. An admin who has none of the roles that the question is to answers with a `reason`, which the audit has. 404 for a question that is not open, or that the caller may not answer; 409 for a second answer that is another one, and when the question was answered meanwhile.',
  example: examples.answerQuestion,
  method: 'POST',
  path: '/v1/questions/{question_id}/answer',
  access: questionAccess.answer,
  params: QuestionParams,
  input: AnswerInput,
  reply: AnsweredQuestion,
  handle: async (request, services) => {
    const { threads, execution, access } = services;
    const { params, input, requestId, newId, idempotency, call } = request;
    const { question_id: questionId } = params;
    if (input.answer === undefined) throw invalidAt(['body', 'answer'], 'is required', 'missing');
    const answerJson = boundedBytes(input.answer, ['body', 'answer'], sizes.resume);
    const question = await undefinedIfNotFound(threads.getQuestion({ questionId }, call()));
    const isTheirs = question !== undefined && mayAnswer(access, request, question);
    if (!question || !(isTheirs || question.isClosed)) throw noQuestion(questionId);
    const isOpen = isTheirs && !question.isHeld;
    if (isTheirs) await mayTouchAll(request, questionAccess.answer, [question], subjectOf, services);
    const { owner, threadId, interruptId } = question;
    const about = { owner, threadId, questionId, interruptId, runId: newId('run'), requestId };
    const answer = { ...about, ...answererOf(request), answerJson };
    if (isOpen && access.signsIn && !isTo(question, new Set(addressesOf(access, request.roles))))
      await audit(
        request,
        {
          action: 'answer',
          operation: 'answerQuestion',
          of: owner,
          ...(question.runId !== '' && { runId: question.runId }),
          threadId,
          reason: input.reason,
          place: 'body',
        },
        services,
      );
    const given = { ...answer, ...idempotency, ...(!isOpen && { onlyRepeated: true }) };
    const reply = await execution.answerQuestion(given, call()).catch((error: unknown) => {
      if (isOpen || !isServiceError(error, 'Conflict')) throw error;
      // Who has not answered it learns nothing of a question that is closed.
      throw isTheirs ? conflict(`question "${questionId}" has an answer at work: try again`) : noQuestion(questionId);
    });
    return JSON.stringify(answeredOf(questionId, reply));
  },
});

const noQuestion = (id: string): Error => notFound(`question "${id}" does not exist`);

const answeredOf = (questionId: string, { answers, quorum, differs, runId }: AnswerQuestionReply): object => ({
  ...{ question_id: questionId, status: differs ? 'differs' : runId === undefined ? 'waiting' : 'answered' },
  ...{ answers, quorum },
});
