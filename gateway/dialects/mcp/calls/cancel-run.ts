import { isOpen } from '@agent-workflow/protos/lists';
import type { Run } from '@agent-workflow/protos/threads';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import { dropQuestion, hasLostQuestion } from '../../common/lost-question.ts';
import type { Services } from '../../common/services.ts';
import { questionsIn } from './questions.ts';

/** Stops a run, or drops what it asks. One that has ended otherwise stays as it is. @throws Conflict where its answer comes in the same moment */
export async function cancelRun(
  run: Run,
  request: Pick<EndpointRequest, 'owner' | 'call' | 'idempotency'>,
  { execution, threads }: Pick<Services, 'execution' | 'threads'>,
): Promise<void> {
  const { owner, call, idempotency } = request;
  const { runId, threadId, status, end } = run;
  if (isOpen(status)) {
    await execution.stopRun({ owner, runId, ...idempotency }, call());
    return;
  }
  if (questionsIn(end?.interruptsJson).length === 0) return;
  const thread = await threads.getThread({ owner, threadId }, call());
  if (!hasLostQuestion(run, thread)) await dropQuestion({ ...thread, owner }, request, { threads, execution });
}
