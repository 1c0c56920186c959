import { badRequest, undefinedIfNotFound } from '@agent-workflow/kit/errors';
import { idFault } from '@agent-workflow/protos/message';
import type { Run } from '@agent-workflow/protos/threads';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import { askedBy, askingRunId } from '../../common/questions.ts';
import type { Services } from '../../common/services.ts';
import { answersQuestion } from '../messages/from-agui.ts';
import type { RunAgentInput } from '../schemas/run-input.ts';

/** What a node reads whose question was given up. */
const cancelled = { status: 'cancelled' } as const;

type Request = EndpointRequest<{ readonly agent: string }, RunAgentInput>;
type Threads = Pick<Services, 'threads'>;

interface Answers {
  /** By question; absent: none. */
  readonly resume?: Readonly<Record<string, unknown>>;
  /** The run that has the answer of others to what the page holds open still. */
  readonly answered?: Run;
}

/**
 * The answers of a request. As AG-UI has it, all open questions are answered together. A page holds a question open until it is answered there: what
 * others have answered meanwhile is left out, and so is what a request with new messages gives up that is open no longer.
 * @throws BadRequest
 */
export async function answersOf(request: Request, hasMessages: boolean, { threads }: Threads): Promise<Answers> {
  const { owner, call, input } = request;
  const { threadId, resume = [], messages } = input;
  const last = messages.at(-1);
  if (resume.length === 0 && last && answersQuestion(last))
    throw badRequest('messages: the answer to a question stands in resume');
  if (resume.length === 0) return {};
  const thread = await undefinedIfNotFound(threads.getThread({ owner, threadId }, call()));
  const runId = thread?.waitsFor === 'answer' ? thread.runId : undefined;
  const run = runId === undefined ? undefined : await undefinedIfNotFound(threads.getRun({ owner, runId }, call()));
  const open = run ? askedBy(run).map(({ id }) => id) : [];
  const given: typeof resume = [];
  let answered: Run | undefined;
  for (const entry of resume) {
    const isOpen = open.includes(entry.interruptId);
    const behind = isOpen ? undefined : await answeredBehind(request, entry, { threads });
    answered ??= behind;
    if (isOpen || !(behind || (hasMessages && entry.status === 'cancelled'))) given.push(entry);
  }
  if (given.length === 0) return answered ? { answered } : {};
  const left = open.filter((id) => !given.some(({ interruptId }) => interruptId === id));
  if (left.length > 0)
    throw badRequest(`resume must answer every open question: ${left.map((id) => `"${id}"`).join(', ')} is missing`);
  const answers = given.map(({ interruptId, status, payload }) => [
    interruptId,
    status === 'cancelled' ? cancelled : (payload ?? null),
  ]);
  return { resume: Object.fromEntries(answers) as Answers['resume'] & object, ...(answered && { answered }) };
}

/** So many runs that ask the same again are read. */
const mostAsking = 100;

/** The run that has the answer to a question of this thread which is not open, where that was one to others, or is given up. */
async function answeredBehind(
  { owner, call, input, params }: Request,
  { interruptId, status }: NonNullable<RunAgentInput['resume']>[number],
  { threads }: Threads,
): Promise<Run | undefined> {
  const get = async (runId: string): Promise<Run | undefined> =>
    idFault(runId) ? undefined : undefinedIfNotFound(threads.getRun({ owner, runId }, call()));
  let run = await get(askingRunId(interruptId));
  let isLeftOut = false;
  for (let read = 0; run?.threadId === input.threadId && run.agent === params.agent && read < mostAsking; read++) {
    const question = askedBy(run).find(({ id }) => id === interruptId);
    if (!question) return isLeftOut ? run : undefined;
    isLeftOut ||= status === 'cancelled' || question.to !== undefined;
    if (run.resumedBy === undefined) return undefined;
    run = await get(run.resumedBy);
  }
  return undefined;
}
