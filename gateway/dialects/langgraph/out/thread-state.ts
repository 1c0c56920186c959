import type { CheckpointSource } from '@agent-workflow/protos/lists';
import type { StepTasks } from '@agent-workflow/protos/step-tasks';
import type { RunError, Thread, ThreadCheckpoint } from '@agent-workflow/protos/threads';
import { jsonObject, jsonText } from '../../../http/json.ts';
import { taskIdOf, type TaskPlace } from '../ids/task-id.ts';
import { hasQuestion, isBranch, tasksOfNodes, writesText, type PlacedTask } from './step-tasks.ts';
import { toConfig } from './assistant.ts';
import { errorText, toError } from './error.ts';
import { questionsIn, toInterrupt, type Interrupt } from './interrupts.ts';
import type { Started } from './kept-request.ts';
import type { ShownCheckpoint } from './shown-checkpoints.ts';
import { shownTime } from './shown-time.ts';
import { metadataOf } from './thread.ts';

type JsonObject = Readonly<Record<string, unknown>>;

const sources: Readonly<Record<CheckpointSource, 'input' | 'loop' | 'update' | 'fork'>> = {
  input: 'input',
  step: 'loop',
  update: 'update',
  fork: 'fork',
  rollback: 'fork',
  restore: 'fork',
};

/** How their clients call what made a checkpoint. */
export const sourceOf = (source: CheckpointSource): string => sources[source];

/** A checkpoint of a thread, and what stands before it. */
export interface Placed {
  readonly thread: Thread;
  readonly checkpoint: ThreadCheckpoint & Pick<ShownCheckpoint, 'comes'>;
  /** The checkpoint that it was made of; absent of the first that is kept. */
  readonly before: string | undefined;
  /** The questions that were open then. */
  readonly interruptsJson?: string | undefined;
  /** Whether its run has ended there with questions: then the tasks that come next are those that asked. */
  readonly hasAsked?: boolean;
  /** What the request of its run held. */
  readonly started?: Started | undefined;
  /** Why the step behind it failed. */
  readonly failure?: RunError | undefined;
}

/** The metadata of a checkpoint: of its run, what its request held, and scalars of its config. */
export function metadataOfState({ thread, checkpoint, started }: Placed): JsonObject {
  const { metadataJson, runId, source, step } = checkpoint;
  return {
    ...(started && scalarsOf(started)),
    ...metadataOf(thread),
    ...(started && { ...started.body.metadata, assistant_id: started.assistantId }),
    ...(metadataJson && (JSON.parse(jsonText(metadataJson)) as JsonObject)),
    ...(runId !== undefined && { created_by: 'system', run_attempt: 1, run_id: runId }),
    thread_id: thread.threadId,
    source: sourceOf(source),
    step: step ?? -1,
    parents: {},
  };
}

const scalars: readonly string[] = ['string', 'number', 'boolean'];

/** What is `configurable` and no object. */
function scalarsOf({ config }: Started): JsonObject {
  const { configurable = {} } = toConfig(config);
  const entries = Object.entries(configurable as JsonObject);
  return Object.fromEntries(
    entries.filter(([name, value]) => scalars.includes(typeof value) && !name.startsWith('__')),
  );
}

const checkpointOf = (threadId: string, id: string): JsonObject => ({
  checkpoint_id: id,
  thread_id: threadId,
  checkpoint_ns: '',
});

/** Where the tasks stand that come next. */
function placeOfTasks({ thread, checkpoint, interruptsJson, hasAsked }: Placed): TaskPlace {
  const { checkpointId, comes, nodes } = checkpoint;
  if (!comes) return { of: thread.threadId, at: checkpointId };
  const asked = questionsIn(interruptsJson);
  const isAsking = asked.length > 0 ? asked.some(({ node }) => nodes.includes(node)) : hasAsked === true;
  return isAsking ? { of: comes.of, at: Number(comes.at) - 1 } : comes;
}

interface ShownTask {
  readonly id: string;
  readonly name: string;
  readonly interrupts: readonly Interrupt[];
  readonly [name: string]: unknown;
}

/** The tasks of a state. `known`: those that come next. */
export function tasksOfState(placed: Placed, known: StepTasks | undefined): readonly ShownTask[] {
  const { checkpoint, interruptsJson, failure } = placed;
  const place = placeOfTasks(placed);
  const questions = questionsIn(interruptsJson);
  return tasksOfNodes(checkpoint.next, known).map((task) => {
    const { node, index, result } = task;
    const own = questions.filter((question) => !result && hasQuestion(task, question));
    return {
      ...{ id: taskIdOf(place, node, index), name: node, path: pathOf(task) },
      error: failure?.node === node ? errorText(toError(failure)) : null,
      interrupts: own.map(toInterrupt),
      ...{ checkpoint: null, state: null },
      result: result ? (JSON.parse(writesText(result, unchanged)) as unknown) : null,
    };
  });
}

/** The state of a thread at a checkpoint, member by member as JSON texts. `known`: the tasks that come next. */
export function stateTexts(placed: Placed, values: string, known?: StepTasks): Readonly<Record<string, string>> {
  const { thread, checkpoint, before, interruptsJson } = placed;
  const { threadId } = thread;
  const { checkpointId, next, createdAt } = checkpoint;
  return {
    values,
    next: JSON.stringify(tasksOfNodes(next, known).flatMap(({ node, result }) => (result ? [] : [node]))),
    tasks: JSON.stringify(tasksOfState(placed, known)),
    metadata: JSON.stringify(metadataOfState(placed)),
    created_at: JSON.stringify(shownTime(createdAt)),
    checkpoint: JSON.stringify(checkpointOf(threadId, checkpointId)),
    parent_checkpoint: JSON.stringify(before === undefined ? null : checkpointOf(threadId, before)),
    interrupts: JSON.stringify(questionsIn(interruptsJson).map(toInterrupt)),
    checkpoint_id: JSON.stringify(checkpointId),
    parent_checkpoint_id: JSON.stringify(before ?? null),
  };
}

const unchanged = { fields: {}, messageOf: () => undefined };

const pathOf = (task: PlacedTask): readonly unknown[] =>
  isBranch(task) ? [...(task.path ?? []), false] : ['__pregel_pull', task.node];

/** The state of a thread that has none yet. */
export const emptyState: Readonly<Record<string, string>> = {
  values: '{}',
  next: '[]',
  tasks: '[]',
  metadata: 'null',
  created_at: 'null',
  checkpoint: 'null',
  parent_checkpoint: 'null',
  interrupts: '[]',
  checkpoint_id: 'null',
  parent_checkpoint_id: 'null',
};

/** The members of a state that a request selects, of its values those that it names: `values.messages`. */
export function selectedState(texts: Readonly<Record<string, string>>, select: readonly string[] | undefined): string {
  if (!select?.length) return jsonObject(texts);
  const chosen = Object.fromEntries(Object.entries(texts).filter(([name]) => select.includes(name)));
  const keys = select.flatMap((name) => (name.startsWith('values.') ? [name.slice('values.'.length)] : []));
  if (keys.length === 0 || chosen['values'] !== undefined) return jsonObject(chosen);
  const values = JSON.parse(texts['values'] ?? '{}') as JsonObject;
  const some = Object.fromEntries(Object.entries(values).filter(([name]) => keys.includes(name)));
  return jsonObject({ values: JSON.stringify(some), ...chosen });
}

/** The names of the checkpoint that an update has made. */
export function updatedText(threadId: string, version: number): string {
  const checkpoint = { thread_id: threadId, checkpoint_ns: '', checkpoint_id: String(version) };
  return JSON.stringify({ checkpoint, configurable: checkpoint, checkpoint_id: String(version) });
}
