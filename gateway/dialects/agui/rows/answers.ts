import { badRequest, undefinedIfNotFound } from '@agent-workflow/kit/errors';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import type { Services } from '../../common/services.ts';
import type { RunAgentInput } from '../schemas/run-input.ts';

/** What a node reads whose question was given up. */
const cancelled = { status: 'cancelled' } as const;

/**
 * The answers of a request, by question; `undefined` where it answers none. As AG-UI has it, all open questions are answered together.
 * @throws BadRequest
 */
export async function answersOf(
  { owner, call, input }: EndpointRequest<unknown, RunAgentInput>,
  { threads }: Pick<Services, 'threads'>,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  const { threadId, resume = [] } = input;
  if (resume.length === 0) return undefined;
  const thread = await undefinedIfNotFound(threads.getThread({ owner, threadId }, call()));
  const runId = thread?.waitsFor === 'answer' ? thread.runId : undefined;
  const run = runId === undefined ? undefined : await undefinedIfNotFound(threads.getRun({ owner, runId }, call()));
  const json = run?.end?.interruptsJson;
  const open = json === undefined ? [] : (JSON.parse(json) as readonly { readonly id: string }[]);
  const left = open.filter(({ id }) => !resume.some(({ interruptId }) => interruptId === id));
  if (left.length > 0)
    throw badRequest(
      `resume must answer every open question: ${left.map(({ id }) => `"${id}"`).join(', ')} is missing`,
    );
  return Object.fromEntries(
    resume.map(({ interruptId, status, payload }) => [
      interruptId,
      status === 'cancelled' ? cancelled : (payload ?? null),
    ]),
  );
}
