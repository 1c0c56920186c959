import type { Message } from '@agent-workflow/protos/message';
import {
  statusMessage,
  taskStatus,
  type TaskIds,
  type TaskMessage,
  type TaskPart,
  type TaskStatus,
} from '@agent-workflow/protos/task-status';
import type { Run } from '@agent-workflow/protos/threads';
import type { AddressOf } from '../../common/file-addresses.ts';
import { toParts } from '../messages/to-parts.ts';
import type { Part } from '../schemas/messages.ts';

interface Artifact {
  readonly artifactId: string;
  readonly name?: string;
  readonly parts: readonly TaskPart[];
}

export interface Task {
  readonly id: string;
  readonly contextId: string;
  readonly status: TaskStatus;
  readonly artifacts?: readonly Artifact[];
  readonly history?: readonly TaskMessage[];
}

/** The message by which a run of a task was asked for, as the record keeps it. */
export interface AskedBy {
  readonly messageId: string;
  readonly parts: readonly Part[];
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** A run of a task, and what it was asked and has said. */
export interface TaskRun {
  readonly run: Pick<Run, 'runId' | 'status' | 'updatedAt' | 'end'>;
  readonly askedBy?: AskedBy | undefined;
  /** What it has added to its thread; absent where artifacts are not wanted. */
  readonly messages?: readonly Message[];
  /** The fields of its result, where it has said nothing. */
  readonly fields?: Readonly<Record<string, unknown>> | undefined;
}

interface Showing extends TaskIds {
  readonly runs: readonly TaskRun[];
  readonly addressOf: AddressOf;
  /** Absent: all of it. */
  readonly historyLength?: number | undefined;
}

/** A task as it stands: its runs, the last of which has its state. */
export function toTask({ taskId, contextId, runs, addressOf, historyLength }: Showing): Task {
  const ids = { taskId, contextId };
  const last = runs.at(-1);
  if (!last) throw new Error('a task has a run');
  const artifacts = runs.flatMap((each) => artifactsOf(each, addressOf));
  const history = newest(
    runs.flatMap((each) => turnOf(each, ids, each === last)),
    historyLength,
  );
  return {
    ...{ id: taskId, contextId, status: taskStatus(last.run, ids) },
    ...(artifacts.length > 0 && { artifacts }),
    ...(history.length > 0 && { history }),
  };
}

interface Begun extends TaskIds {
  readonly at: Date;
  readonly askedBy: AskedBy | undefined;
}

/** A task whose first run has just been accepted; `undefined` where its message is not known. */
export const newTask = ({ taskId, contextId, at, askedBy }: Begun): Task | undefined =>
  askedBy && {
    ...{ id: taskId, contextId, status: { state: 'TASK_STATE_SUBMITTED', timestamp: at.toISOString() } },
    history: [{ taskId, contextId, ...askedBy, role: 'ROLE_USER' }],
  };

const newest = <T>(items: readonly T[], length: number | undefined): readonly T[] =>
  length === undefined ? items : items.slice(Math.max(0, items.length - length));

/** What was said in a run that is no output: what it was asked, and what it asks. What the last one asks stands in the status. */
function turnOf({ run, askedBy }: TaskRun, ids: TaskIds, isLast: boolean): readonly TaskMessage[] {
  const question = isLast ? undefined : statusMessage(run, ids);
  return [...(askedBy ? [{ ...ids, ...askedBy, role: 'ROLE_USER' as const }] : []), ...(question ? [question] : [])];
}

/** What a run has given out: each message of its agent, or where there is none the fields of its state. */
function artifactsOf({ run, messages = [], fields }: TaskRun, addressOf: AddressOf): readonly Artifact[] {
  const given = messages.flatMap((message) => artifactOf(message, addressOf) ?? []);
  return given.length > 0 || !fields ? given : [stateArtifact(run.runId, fields)];
}

function artifactOf(message: Message, addressOf: AddressOf): Artifact | undefined {
  const parts = message.role === 'assistant' ? toParts(message, addressOf) : [];
  return parts.length === 0 ? undefined : { artifactId: message.message_id, parts };
}

/** The result of an agent that says nothing. */
export const stateArtifact = (runId: string, fields: Readonly<Record<string, unknown>>): Artifact => ({
  ...{ artifactId: `${runId}:state`, name: 'state', parts: [{ data: fields }] },
});
