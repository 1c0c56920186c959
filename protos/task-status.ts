import { addressedOf, waitsForText, type Addressed } from './addressed.ts';
import type { RunStatus } from './lists.ts';
import { toEventError } from './failures.ts';
import type { Run } from './threads.ts';

// The status of a task of A2A, as replies and push notifications show it.

/** The states that a task has here. */
export type TaskState =
  | 'TASK_STATE_SUBMITTED'
  | 'TASK_STATE_WORKING'
  | 'TASK_STATE_INPUT_REQUIRED'
  | 'TASK_STATE_COMPLETED'
  | 'TASK_STATE_FAILED'
  | 'TASK_STATE_CANCELED';

/** The state of a task whose last run has this status. */
export const taskStates: Readonly<Record<RunStatus, TaskState>> = {
  queued: 'TASK_STATE_SUBMITTED',
  running: 'TASK_STATE_WORKING',
  sleeping: 'TASK_STATE_WORKING',
  interrupted: 'TASK_STATE_INPUT_REQUIRED',
  completed: 'TASK_STATE_COMPLETED',
  failed: 'TASK_STATE_FAILED',
  stopped: 'TASK_STATE_CANCELED',
};

/** How callers know a task: its first run, and its thread. */
export interface TaskIds {
  readonly taskId: string;
  readonly contextId: string;
}

/** A part of what an agent says. */
export interface TaskPart {
  readonly text?: string;
  readonly raw?: string;
  readonly url?: string;
  readonly data?: unknown;
  readonly filename?: string;
  readonly mediaType?: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** A message of the history of a task, or of its status. */
export interface TaskMessage extends TaskIds {
  readonly messageId: string;
  readonly role: 'ROLE_USER' | 'ROLE_AGENT';
  readonly parts: readonly TaskPart[];
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export interface TaskStatus {
  readonly state: TaskState;
  readonly message?: TaskMessage;
  /** ISO 8601. */
  readonly timestamp: string;
}

/** A question as a run has it. */
export interface TaskQuestion extends Addressed {
  readonly id: string;
  readonly node: string;
  readonly value: unknown;
  /** ISO 8601: until then it may be answered. */
  readonly deadline?: string;
}

/** What the last run of a task says of it. */
export const taskStatus = (run: Pick<Run, 'runId' | 'status' | 'updatedAt' | 'end'>, ids: TaskIds): TaskStatus => {
  const message = statusMessage(run, ids);
  return {
    state: taskStates[run.status],
    ...(message && { message }),
    timestamp: new Date(run.updatedAt).toISOString(),
  };
};

/** What a run asks, or why it failed; `undefined` where its state says all. */
export function statusMessage({ runId, end }: Pick<Run, 'runId' | 'end'>, ids: TaskIds): TaskMessage | undefined {
  if (end?.error) return agentMessage(`${runId}:error`, ids, [{ text: toEventError(end.error).message }]);
  if (end?.status !== 'interrupted') return undefined;
  return agentMessage(`${runId}:question`, ids, questionParts(questionsIn(end.interruptsJson)));
}

export const agentMessage = (messageId: string, ids: TaskIds, parts: readonly TaskPart[]): TaskMessage => ({
  ...{ messageId, ...ids, role: 'ROLE_AGENT', parts },
});

/** The questions in a JSON text. */
export const questionsIn = (json: string | undefined): readonly TaskQuestion[] =>
  json === undefined ? [] : (JSON.parse(json) as readonly TaskQuestion[]);

/** What questions say: each as a text where it has one, and whole, with the id that an answer may name. */
export const questionParts = (questions: readonly TaskQuestion[]): readonly TaskPart[] =>
  questions.length === 0 ? [{ text: 'waits for the results of tools' }] : questions.flatMap(partsOf);

function partsOf({ id, node, value, deadline, ...asked }: TaskQuestion): readonly TaskPart[] {
  const texts = [textIn(value), asked.to && waitsForText(asked.to)].filter((text) => text !== undefined);
  const whole = { question_id: id, node, value, ...(deadline !== undefined && { deadline }), ...addressedOf(asked) };
  return [...texts.map((text) => ({ text })), { data: whole }];
}

/** The names under which authors put the text of a question. */
const textNames: readonly string[] = ['message', 'question', 'prompt'];

function textIn(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null) return undefined;
  return Object.entries(value)
    .flatMap(([name, text]) => (textNames.includes(name) && typeof text === 'string' ? [text] : []))
    .at(0);
}
