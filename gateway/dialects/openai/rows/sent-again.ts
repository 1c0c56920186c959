import { isServiceError, undefinedIfNotFound } from '@agent-workflow/kit/errors';
import type { Run } from '@agent-workflow/protos/threads';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import { messageKeyed } from '../../../idempotency/index.ts';
import { hasLostQuestion } from '../../common/lost-question.ts';
import { waitsForOthers } from '../../common/questions.ts';
import type { Services } from '../../common/services.ts';
import { isThreadThere } from '../../common/start-run.ts';
import type { ChatInput } from '../schemas/chat.ts';
import { digestOf } from './earlier-attempt.ts';

type Request = EndpointRequest<unknown, ChatInput>;

/** So long a conversation that is sent again gets what came of the answer of others, in milliseconds; later it is another one. */
const resultMs = 60 * 60 * 1000;

/** Is replaced with the ids of the key. */
const unkeyed = (what: string): string => what;

/**
 * The thread of a completion that names none: it is found again by the conversation, whatever functions the caller offers with it. `undefined` where nobody else may be asked, and for a request with a
 * key, which finds its run by that.
 */
export function threadOfConversation(
  { owner, input, idempotency }: Request,
  { access }: Pick<Services, 'access'>,
): string | undefined {
  if (!access.signsIn || access.roles.size === 0 || idempotency.onceKey !== undefined) return undefined;
  const { stream: _stream, stream_options: _options, tools: _tools, ...more } = input;
  const { tool_choice: _choice, parallel_tool_calls: _parallel, ...same } = more;
  return messageKeyed({ owner, newId: unkeyed, idempotency: {} }, ['openai conversation', digestOf(same)]).newId(
    'thread',
  );
}

/** Whether a start was refused since the thread of its conversation is there, or is about to go. */
export const isConversationThere = (error: unknown): boolean =>
  isThreadThere(error) || isServiceError(error, 'NotFound') || isServiceError(error, 'Conflict');

/** The run of a conversation that waits for others, or has their answer; `undefined` where it asked nobody else. */
export async function runOfConversation(
  { owner, call, at }: Request,
  threadId: string,
  { threads }: Pick<Services, 'threads'>,
): Promise<Run | undefined> {
  const get = async (runId: string | undefined): Promise<Run | undefined> =>
    runId === undefined ? undefined : undefinedIfNotFound(threads.getRun({ owner, runId }, call()));
  const thread = await undefinedIfNotFound(threads.getThread({ owner, threadId }, call()));
  const newest = await get(thread?.runId);
  if (!thread || !newest || hasLostQuestion(newest, thread)) return undefined;
  if (newest.status === 'interrupted' && waitsForOthers(newest)) return newest;
  const asking = await get(newest.resumes);
  return asking && waitsForOthers(asking) && at.getTime() - newest.updatedAt < resultMs ? newest : undefined;
}
