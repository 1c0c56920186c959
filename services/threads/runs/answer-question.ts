import { conflict, notFound, type ServiceError } from '@agent-workflow/kit/errors';
import { idFrom } from '@agent-workflow/kit/ids';
import type { Answerer } from '@agent-workflow/protos/answerer';
import type { AnswerQuestionReply, AnswerQuestionRequest } from '@agent-workflow/protos/threads';
import type { RoutingsByAgent } from '../agents/routings.ts';
import type { Undone } from '../history/overlay.ts';
import type { Decision, Snapshot } from '../ports/changes.ts';
import type { AddressedQuestion, Head, RunRecord } from '../ports/record.ts';
import { isAnswerable, openAddressed, questionIdOf } from '../record/addressed.ts';
import { fromJson } from '../record/json.ts';
import { decideAccept } from './accept.ts';
import { acceptanceAsAsked } from './as-asked.ts';

interface Answering {
  readonly now: number;
  readonly routings: RoutingsByAgent;
  readonly undone: Undone;
  /** The run that asks, which may be one of the thread that this one was forked from. Absent: none does. */
  readonly asking: RunRecord | undefined;
  /** The ids of the API keys by which answers have come that are revoked by now. */
  readonly revoked: ReadonlySet<string>;
}

/** Two answers are the same when their hashes are: of their JSON, whatever the order of its members. */
const hashOfAnswer = (json: Uint8Array): string => idFrom(canonical(fromJson(json)), 'answer');

const canonical = (value: unknown): string =>
  JSON.stringify(value, (_name, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );

/**
 * Notes one answer. The one that completes the quorum brings it to the node; one that differs from those before ends the question, and the node
 * learns that they differ: no answer reaches it that fewer than the quorum gave.
 */
export function decideAnswer(
  request: AnswerQuestionRequest,
  snapshot: Snapshot,
  { asking, now, revoked, ...deciding }: Answering,
): Decision<AnswerQuestionReply> {
  const { head } = snapshot;
  if (!head || head.deleting) throw notFound(`thread "${request.threadId}" does not exist`);
  const hash = hashOfAnswer(request.answerJson);
  const question = openAddressed(head).find((one) => isMeant(request, one));
  if (!question || !asking || head.interruptedRun !== asking.runId || !isAnswerable(head, question.id))
    throw closed(request);
  const { quorum = 1 } = question;
  const given = withoutRevoked(question.given, revoked);
  const differs = given !== undefined && given.hash !== hash;
  if (given?.by.some(({ by }) => by === request.by)) {
    if (differs) throw conflict(`"${request.by}" has given another answer to question "${request.questionId}" already`);
    return { reply: { answers: given.by.length, quorum, differs: false } };
  }
  const by: readonly Answerer[] = [
    ...(given?.by ?? []),
    {
      ...{ by: request.by, at: new Date(now).toISOString(), client: request.client },
      ...(request.key !== undefined && { key: request.key }),
    },
  ];
  const reply = { answers: differs ? by.length - 1 : by.length, quorum, differs };
  if (!differs && by.length < quorum)
    return { change: { head: withAnswers(head, { ...question, given: { hash, by } }) }, reply };
  const { id } = question;
  const brought = differs
    ? { resume: {}, differ: [id], differing: { quorum, hashes: [given.hash, hash] } }
    : { resume: { [id]: fromJson(request.answerJson) } };
  const accepted = decideAccept(
    acceptanceAsAsked(request, {
      ...{ head, asking, runId: request.runId, requestId: request.requestId, keys: [id] },
      given: { ...brought, answeredBy: by, answers: request.questionId },
    }),
    { ...snapshot, ...deciding, resumed: asking, held: undefined, settled: [id] },
    now,
  );
  const { agent, revision } = accepted.change?.head ?? head;
  return {
    ...(accepted.change && { change: accepted.change }),
    reply: {
      ...{ ...reply, runId: accepted.reply.runId },
      ...(agent === undefined ? {} : { agent }),
      ...(revision === undefined ? {} : { revision }),
    },
  };
}

/** The answers that count: one that was given by a key which was revoked since does not, as who has stolen the key may have given it. */
function withoutRevoked(given: Given, revoked: ReadonlySet<string>): Given {
  const by = given?.by.filter(({ key }) => key === undefined || !revoked.has(key)) ?? [];
  return given && by.length > 0 ? { ...given, by } : undefined;
}

type Given = AddressedQuestion['given'];

/** The ids of the API keys by which answers to a question have come that waits for more. */
export const keysOfAnswers = (
  { addressed = [] }: Head,
  { interruptId }: Pick<AnswerQuestionRequest, 'interruptId'>,
): readonly string[] => addressed.find(({ id }) => id === interruptId)?.given?.by.flatMap(({ key }) => key ?? []) ?? [];

const isMeant = ({ interruptId, questionId, ...key }: AnswerQuestionRequest, question: AddressedQuestion): boolean =>
  question.id === interruptId && questionIdOf(key, question) === questionId;

const withAnswers = (head: Head, question: AddressedQuestion): Head => ({
  ...head,
  addressed: (head.addressed ?? []).map((one) => (one.id === question.id ? question : one)),
});

/** Of the options of a run that goes on because answers differ: the answer of those before the last, and that of the last. */
interface Differing {
  readonly quorum: number;
  readonly hashes: readonly [string, string];
}

interface Options {
  readonly answeredBy?: readonly Answerer[];
  readonly answers?: string;
  readonly resume?: Readonly<Record<string, unknown>>;
  readonly differing?: Differing;
}

/** The reply to an answer, where `run` is what the answers began and this is one of them again; `undefined` for any other. */
export function repeatedAnswer(
  { by, interruptId, questionId, answerJson }: AnswerQuestionRequest,
  { runId, options }: Pick<RunRecord, 'runId' | 'options'>,
): AnswerQuestionReply | undefined {
  const { answeredBy = [], answers, resume = {}, differing } = fromJson(options) as Options;
  const index = answeredBy.findIndex((one) => one.by === by);
  if (answers !== questionId || index < 0) return undefined;
  const isLast = index === answeredBy.length - 1;
  const brought = Object.entries(resume).find(([id]) => id === interruptId);
  const hash = differing ? differing.hashes[isLast ? 1 : 0] : brought && idFrom(canonical(brought[1]), 'answer');
  if (hash !== hashOfAnswer(answerJson)) return undefined;
  const { length: count } = answeredBy;
  if (differing) return { answers: count - 1, quorum: differing.quorum, differs: true, runId };
  return { answers: count, quorum: count, differs: false, runId };
}

/** The question is not one that the thread waits to be answered. */
export const closed = ({ questionId }: AnswerQuestionRequest): ServiceError =>
  conflict(`question "${questionId}" is not open: it was answered, or its thread has gone on`);
