import type { Run } from '@agent-workflow/protos/threads';
import type { EndpointRequest, StreamExtras } from '../../../http/endpoint.ts';
import { framed } from '../../common/framed.ts';
import type { Services } from '../../common/services.ts';
import { encodeResponses } from '../frames/framing.ts';
import { createTaskFrames, type StreamResponse } from '../frames/task-frames.ts';
import type { Task } from '../out/task.ts';
import { addressesOf } from './files.ts';
import { readTask, runsOfTask, type TaskRuns } from './read-task.ts';

/** The longest stream, one day, in milliseconds. */
export const streamMs = 24 * 60 * 60 * 1000;

interface Following extends Pick<EndpointRequest, 'owner' | 'rpc' | 'origin'> {
  readonly runId: string;
  readonly taskId: string;
  readonly agent: string;
  /** Whether the stream begins with this run of the task. */
  readonly isFirst: boolean;
  /** The task as it was begun, where the record need not be read for it. */
  readonly known?: Task | undefined;
}

/** The events of the task in place of those of its run. Streams of one `name` have the same bytes. */
export const inResponses = (
  { owner, origin, runId, taskId, agent, rpc, isFirst, known }: Following,
  services: Services,
): StreamExtras =>
  framed<StreamResponse>({
    name: `a2a ${String(isFirst)} ${JSON.stringify(rpc?.id)} ${origin()}`,
    begin: ({ threadId: contextId }, call) =>
      createTaskFrames({
        ids: { taskId, contextId },
        addressOf: addressesOf({ owner, origin }, services),
        runId,
        ...(isFirst && {
          begin: async () => {
            if (known) return known;
            const request = { owner, origin, call: () => call };
            const runs = await runsOfTask(request, { taskId, agent }, services);
            return readTask(request, upTo(runs, runId), { output: 'before' }, services);
          },
        }),
      }),
    encode: (responses, { seq }, skipped) => encodeResponses(responses, { runId, seq, skipped, rpc }),
  });

/** The runs of a task until the one that is followed, as it was when it was accepted. */
function upTo([first, ...others]: TaskRuns, runId: string): TaskRuns {
  const runs = [first, ...others];
  const last = runs.findIndex((run) => run.runId === runId);
  const [one = first, ...rest] = runs.slice(0, last + 1).map((run) => (run.runId === runId ? accepted(run) : run));
  return [one, ...rest];
}

const accepted = ({ end: _, ...run }: Run): Run => ({ ...run, status: 'queued', updatedAt: run.createdAt });
