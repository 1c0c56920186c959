import type { Run } from '@agent-workflow/protos/threads';
import type { EndpointRequest, StreamExtras } from '../../../http/endpoint.ts';
import { addressesOf } from '../../common/file-addresses.ts';
import { framed } from '../../common/framed.ts';
import type { Services } from '../../common/services.ts';
import { encodeResponses } from '../frames/framing.ts';
import { createTaskFrames, type StreamResponse } from '../frames/task-frames.ts';
import type { Task } from '../out/task.ts';
import { readTask, runsOfTask, type TaskRuns } from './read-task.ts';

/** The longest stream, one day, in milliseconds. */
export const streamMs = 24 * 60 * 60 * 1000;

interface Following extends Pick<EndpointRequest, 'owner' | 'rpc' | 'origin'> {
  readonly runId: string;
  readonly taskId: string;
  readonly agent: string;
  /** Whether the stream begins with this run of the task. */
  readonly isFirst: boolean;
  /** That run as it stood when the stream was asked for; absent: the stream begins with it as it was accepted. */
  readonly stood?: Run | undefined;
  /** The task as it was begun, where the record need not be read for it. */
  readonly known?: Task | undefined;
}

/** The events of the task in place of those of its run. Streams of one `name` have the same bytes. */
export const inResponses = (
  { owner, origin, runId, taskId, agent, rpc, isFirst, stood, known }: Following,
  services: Services,
): StreamExtras =>
  framed<StreamResponse>({
    name: `a2a ${String(isFirst)} ${stood ? `${stood.status} ${String(stood.updatedAt)}` : ''} ${JSON.stringify(rpc?.id)} ${origin()}`,
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
            return readTask(request, upTo(runs, runId, stood), { output: 'before' }, services);
          },
        }),
      }),
    encode: (responses, { seq }, skipped) => encodeResponses(responses, { runId, seq, skipped, rpc }),
  });

/** The end of a task whose question was cancelled, or whose thread went on: it stands in no event of the run that asked. */
export const canceledResponse = (
  { rpc, runId, taskId }: Pick<Following, 'rpc' | 'runId' | 'taskId'>,
  at: number,
): StreamExtras =>
  framed<StreamResponse>({
    name: `a2a canceled ${JSON.stringify(rpc?.id)} ${String(at)}`,
    begin:
      ({ threadId: contextId }) =>
      ({ kind }) => {
        const status = { state: 'TASK_STATE_CANCELED', timestamp: new Date(at).toISOString() };
        return Promise.resolve(kind === 'on_chain_end' ? [{ statusUpdate: { taskId, contextId, status } }] : []);
      },
    encode: (responses, { seq }, skipped) => encodeResponses(responses, { runId, seq, skipped, rpc }),
  });

/** The runs of a task until the one that is followed, as that stood. */
function upTo([first, ...others]: TaskRuns, runId: string, stood?: Run): TaskRuns {
  const runs = [first, ...others];
  const last = runs.findIndex((run) => run.runId === runId);
  const [one = first, ...rest] = runs
    .slice(0, last + 1)
    .map((run) => (run.runId === runId ? (stood ?? accepted(run)) : run));
  return [one, ...rest];
}

const accepted = ({ end: _, ...run }: Run): Run => ({ ...run, status: 'queued', updatedAt: run.createdAt });
