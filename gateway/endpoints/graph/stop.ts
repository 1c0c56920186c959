import { isServiceError } from '@agent-workflow/kit/errors';
import type { Threads } from '@agent-workflow/protos/threads';
import type { Static } from 'typebox';
import type { Ask } from '../../http/endpoint.ts';
import { jsonBytes, jsonText } from '../../http/json.ts';
import { StopInput, StoppedThread } from '../../schemas/runs.ts';
import { endpoint } from '../common/services.ts';
import { stopMessage } from '../runs/stop-message.ts';
import { threadOf } from './thread-of.ts';

/** Ends the run that holds a thread, if one does. */
export const stopThread = endpoint({
  name: 'stopThread',
  tag: 'runs',
  summary: 'Stop the run of a thread at once',
  method: 'POST',
  path: '/v1/graph/stop',
  access: { resource: 'graph', action: 'stop' },
  input: StopInput,
  reply: StoppedThread,
  handle: async (ask, { execution, threads }) => {
    const { owner, input, call, once } = ask;
    const threadId = threadOf(input);
    const runId = await runToStop(ask, threads);
    if (runId === undefined) return idleText(threadId);
    try {
      const { status, stoppedNow } = await execution.stopRun({ owner, runId, ...once }, call());
      const message = stopMessage(stoppedNow, status);
      return JSON.stringify({ success: stoppedNow, thread_id: threadId, run_id: runId, status, message });
    } catch (error) {
      // Its thread was deleted meanwhile, which ended it.
      if (isServiceError(error, 'NotFound')) return idleText(threadId);
      throw error;
    }
  },
});

/** The run that holds the thread; of a request that is done once, the one that held it when that was sent first. */
async function runToStop(ask: Ask<unknown, Static<typeof StopInput>>, threads: Threads): Promise<string | undefined> {
  const { owner, input, call, once, newId } = ask;
  const { activeRunId } = await threads.getThread({ owner, threadId: threadOf(input) }, call());
  if (once.onceKey === undefined) return activeRunId;
  const note = { owner, onceKey: newId('run to stop'), bodyHash: '', replyJson: jsonBytes({ runId: activeRunId }) };
  const { isNew, replyJson } = await threads.beginOnce(note, call());
  if (isNew || !replyJson) return activeRunId;
  return (JSON.parse(jsonText(replyJson)) as { runId?: string }).runId;
}

const idleText = (threadId: string): string =>
  JSON.stringify({ success: false, thread_id: threadId, run_id: null, status: 'idle', message: 'nothing is running' });
