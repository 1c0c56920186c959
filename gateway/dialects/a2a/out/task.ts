import { toEventError } from '@agent-workflow/protos/failures';
import type { RunStatus } from '@agent-workflow/protos/lists';
import type { Message } from '@agent-workflow/protos/message';
import type { Run } from '@agent-workflow/protos/threads';
import { toParts, type ShownPart } from '../messages/to-parts.ts';
import type { Part } from '../schemas/messages.ts';
import { questionParts, questionsIn } from './questions.ts';

export type TaskState =
  | 'TASK_STATE_SUBMITTED'
  | 'TASK_STATE_WORKING'
  | 'TASK_STATE_INPUT_REQUIRED'
  | 'TASK_STATE_COMPLETED'
  | 'TASK_STATE_FAILED'
  | 'TASK_STATE_CANCELED';

/** The state of a task whose last run has this status. */
export const states: Readonly<Record<RunStatus, TaskState>> = {
  queued: 'TASK_STATE_SUBMITTED',
  running: 'TASK_STATE_WORKING',
  sleeping: 'TASK_STATE_WORKING',
  interrupted: 'TASK_STATE_INPUT_REQUIRED',
  completed: 'TASK_STATE_COMPLETED',
  failed: 'TASK_STATE_FAILED',
  stopped: 'TASK_STATE_CANCELED',
};

/** How callers know a task. */
export interface TaskIds {
  readonly taskId: string;
  readonly contextId: string;
}

interface ShownMessage {
  readonly messageId: string;
  readonly contextId: string;
  readonly taskId: string;
  readonly role: 'ROLE_USER' | 'ROLE_AGENT';
  readonly parts: readonly (ShownPart | Part)[];
  readonly metadata?: Readonly<Record<string, unknown>>;
}

interface TaskStatus {
  readonly state: TaskState;
  readonly message?: ShownMessage;
  readonly timestamp: string;
}

interface Artifact {
  readonly artifactId: string;
  readonly name?: string;
  readonly parts: readonly ShownPart[];
}

export interface Task {
  readonly id: string;
  readonly contextId: string;
  readonly status: TaskStatus;
  readonly artifacts?: readonly Artifact[];
  readonly history?: readonly ShownMessage[];
}

/** The message by which a run of a task was asked for, as the record keeps it. */
export interface AskedBy {
  readonly messageId: string;
  readonly parts: readonly Part[];
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** A run of a task, and what it was asked and has said. */
export interface TaskRun {
  readonly run: Run;
  readonly askedBy?: AskedBy | undefined;
  /** What it has added to its thread; absent where artifacts are not wanted. */
  readonly messages?: readonly Message[];
  /** The fields of its result, where it has said nothing. */
  readonly fields?: Readonly<Record<string, unknown>> | undefined;
}

interface Showing extends TaskIds {
  readonly runs: readonly TaskRun[];
  /** Absent: all of it. */
  readonly historyLength?: number | undefined;
}

/** A task as it stands: its runs, the last of which has its state. */
export function toTask({ taskId, contextId, runs, historyLength }: Showing): Task {
  const ids = { taskId, contextId };
  const last = runs.at(-1);
  if (!last) throw new Error('a task has a run');
  const artifacts = runs.flatMap(artifactsOf);
  const history = newest(
    runs.flatMap((each) => turnOf(each, ids, each === last)),
    historyLength,
  );
  return {
    ...{ id: taskId, contextId, status: statusOf(last.run, ids) },
    ...(artifacts.length > 0 && { artifacts }),
    ...(history.length > 0 && { history }),
  };
}

const newest = <T>(items: readonly T[], length: number | undefined): readonly T[] =>
  length === undefined ? items : items.slice(Math.max(0, items.length - length));

/** What was said in a run that is no output: what it was asked, and what it asks. What the last one asks stands in the status. */
function turnOf({ run, askedBy }: TaskRun, ids: TaskIds, isLast: boolean): readonly ShownMessage[] {
  const question = isLast ? undefined : statusMessage(run, ids);
  return [...(askedBy ? [{ ...ids, ...askedBy, role: 'ROLE_USER' as const }] : []), ...(question ? [question] : [])];
}

const statusOf = (run: Pick<Run, 'runId' | 'status' | 'updatedAt' | 'end'>, ids: TaskIds): TaskStatus => {
  const message = statusMessage(run, ids);
  return {
    state: states[run.status],
    ...(message && { message }),
    timestamp: new Date(run.updatedAt).toISOString(),
  };
};

/** What a run asks, or why it failed; `undefined` where its state says all. */
function statusMessage({ runId, end }: Pick<Run, 'runId' | 'end'>, ids: TaskIds): ShownMessage | undefined {
  if (end?.error) return agentMessage(`${runId}:error`, ids, [{ text: toEventError(end.error).message }]);
  if (end?.status !== 'interrupted') return undefined;
  return agentMessage(`${runId}:question`, ids, questionParts(questionsIn(end.interruptsJson)));
}

export const agentMessage = (messageId: string, ids: TaskIds, parts: readonly ShownPart[]): ShownMessage => ({
  ...{ messageId, ...ids, role: 'ROLE_AGENT', parts },
});

/** What a run has given out: each message of its agent, or where there is none the fields of its state. */
function artifactsOf({ run, messages = [], fields }: TaskRun): readonly Artifact[] {
  const given = messages.flatMap((message) => artifactOf(message) ?? []);
  return given.length > 0 || !fields ? given : [stateArtifact(run.runId, fields)];
}

function artifactOf(message: Message): Artifact | undefined {
  const parts = message.role === 'assistant' ? toParts(message) : [];
  return parts.length === 0 ? undefined : { artifactId: message.message_id, parts };
}

/** The result of an agent that says nothing. */
export const stateArtifact = (runId: string, fields: Readonly<Record<string, unknown>>): Artifact => ({
  ...{ artifactId: `${runId}:state`, name: 'state', parts: [{ data: fields }] },
});
