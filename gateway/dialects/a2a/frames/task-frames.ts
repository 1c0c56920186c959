import type { RunEvent } from '@agent-workflow/protos/execution';
import type { EndStatus } from '@agent-workflow/protos/lists';
import { dataOf } from '../../common/event-data.ts';
import {
  agentMessage,
  questionParts,
  taskStates,
  type TaskIds,
  type TaskPart,
  type TaskQuestion,
  type TaskState,
} from '@agent-workflow/protos/task-status';
import { jsonText } from '../../../http/json.ts';
import type { AddressOf } from '../../common/file-addresses.ts';
import type { ToFrames } from '../../common/framed.ts';
import { stateArtifact, type Task } from '../out/task.ts';
import { shownState } from '../out/shown-state.ts';
import { createArtifactUpdates, type ArtifactUpdate } from './artifact-updates.ts';

/** What stands in one event of a stream: `StreamResponse` of A2A. */
export type StreamResponse =
  { readonly task: Task } | { readonly statusUpdate: object } | { readonly artifactUpdate: object };

interface Options {
  readonly addressOf: AddressOf;
  readonly ids: TaskIds;
  readonly runId: string;
  /** The task as the stream begins with it; absent: the stream has begun. */
  readonly begin?: (() => Promise<Task>) | undefined;
}

interface EndData {
  readonly state?: Readonly<Record<string, unknown>>;
  readonly meta?: { readonly status?: EndStatus; readonly interrupts?: readonly TaskQuestion[] };
}

/** Makes the events of a task from those of one of its runs, from the first. */
export function createTaskFrames({ ids, runId, begin, addressOf }: Options): ToFrames<StreamResponse> {
  const artifacts = createArtifactUpdates(addressOf);

  const toArtifact = (update: ArtifactUpdate): StreamResponse => ({ artifactUpdate: { ...ids, ...update } });

  const toStatus = (
    at: number,
    state: TaskState,
    message?: readonly [id: string, parts: readonly TaskPart[]],
  ): StreamResponse => ({
    statusUpdate: {
      ...ids,
      status: {
        state,
        ...(message && { message: agentMessage(message[0], ids, message[1]) }),
        timestamp: new Date(at).toISOString(),
      },
    },
  });

  const advance = ({ seq, at, data }: RunEvent): readonly StreamResponse[] => {
    const { node, status, custom } = JSON.parse(jsonText(data)) as {
      readonly node: string;
      readonly status: string;
      readonly custom?: unknown;
    };
    if (status === 'restarted') return artifacts.withdraw(node).map(toArtifact);
    if (status !== 'progress') return [];
    const reported = { data: { node, progress: custom ?? null } };
    return [toStatus(at, 'TASK_STATE_WORKING', [`${runId}:${String(seq)}`, [reported]])];
  };

  const finish = (event: RunEvent): readonly StreamResponse[] => {
    const { state = {}, meta = {} } = dataOf(event) as EndData;
    const { status = 'completed', interrupts = [] } = meta;
    const left = artifacts.withdraw();
    const isSilent = artifacts.count() === 0 && status === 'completed';
    const given = isSilent ? [{ artifact: stateArtifact(runId, shownState(state)), lastChunk: true as const }] : [];
    const question = status === 'interrupted' ? ([`${runId}:question`, questionParts(interrupts)] as const) : undefined;
    return [...[...left, ...given].map(toArtifact), toStatus(event.at, taskStates[status], question)];
  };

  return (event) => {
    switch (event.kind) {
      case 'metadata':
        return begin ? begin().then((task) => [{ task }]) : [];
      case 'on_chain_start':
        return [toStatus(event.at, 'TASK_STATE_WORKING')];
      case 'on_chain_stream':
        return advance(event);
      case 'messages_chunk':
        return artifacts.of(event).map(toArtifact);
      case 'on_chain_end':
        return finish(event);
      case 'error': {
        const { message } = JSON.parse(jsonText(event.data)) as { readonly message: string };
        const left = artifacts.withdraw().map(toArtifact);
        return [...left, toStatus(event.at, 'TASK_STATE_FAILED', [`${runId}:error`, [{ text: message }]])];
      }
      default:
        return [];
    }
  };
}
