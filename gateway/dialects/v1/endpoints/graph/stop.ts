import { undefinedIfNotFound } from '@agent-workflow/kit/errors';
import type { IdempotencyCalls, ThreadReadCalls } from '@agent-workflow/protos/threads';
import type { Static } from 'typebox';
import type { EndpointRequest } from '../../../../http/endpoint.ts';
import { jsonBytes, jsonText } from '../../../../http/json.ts';
import { StopInput, StoppedThread } from '../../schemas/runs.ts';
import { endpoint } from '../common/endpoint.ts';
import { stopMessage } from '../runs/stop-message.ts';
import { threadOf } from './thread-of.ts';
import * as examples from './examples.ts';

/** Stops the running run of a thread, if there is one. */
export const stopThread = endpoint({
  name: 'stopThread',
  tag: 'runs',
  summary: 'Stop the run of a thread at once',
  description:
    'Stops the run of a thread at once, also in the middle of a node. The steps that were committed stay. Without a run under way the reply is `idle`.',
  example: examples.stopThread,
  method: 'POST',
  path: '/v1/graph/stop',
  access: { resource: 'graph', action: 'stop' },
  input: StopInput,
  reply: StoppedThread,
  handle: async (request, { execution, threads }) => {
    const { owner, input, call, idempotency } = request;
    const threadId = threadOf(input);
    const runId = await runToStop(request, threads);
    if (runId === undefined) return idleText(threadId);
    const stopped = await undefinedIfNotFound(execution.stopRun({ owner, runId, ...idempotency }, call()));
    // The thread was deleted in the meantime, which ended the run.
    if (!stopped) return idleText(threadId);
    const { status, stoppedNow } = stopped;
    const message = stopMessage(stoppedNow, status);
    return JSON.stringify({ success: stoppedNow, thread_id: threadId, run_id: runId, status, message });
  },
});

/** The running run of the thread; for a repeated idempotent request, the one that was running at the first attempt. */
async function runToStop(
  request: EndpointRequest<unknown, Static<typeof StopInput>>,
  threads: ThreadReadCalls & IdempotencyCalls,
): Promise<string | undefined> {
  const { owner, input, call, idempotency, newId } = request;
  const { activeRunId } = await threads.getThread({ owner, threadId: threadOf(input) }, call());
  if (idempotency.onceKey === undefined) return activeRunId;
  const record = { owner, onceKey: newId('run to stop'), bodyHash: '', replyJson: jsonBytes({ runId: activeRunId }) };
  const { isNew, replyJson } = await threads.beginOnce(record, call());
  if (isNew || !replyJson) return activeRunId;
  return (JSON.parse(jsonText(replyJson)) as { runId?: string }).runId;
}

const idleText = (threadId: string): string =>
  JSON.stringify({ success: false, thread_id: threadId, run_id: null, status: 'idle', message: 'nothing is running' });
