import { field } from '@agent-workflow/graph';
import type { StepTasks } from '@agent-workflow/protos/step-tasks';
import type { Range } from './message-ranges.ts';

/** What a task of a super-step wrote, and whose checkpoint is not yet the next one. */
export interface KeptWrite {
  readonly task: string;
  readonly path: string;
  readonly index: number;
  readonly channel: string;
  readonly value: unknown;
}

/** What the state keeps of a LangGraph graph beside the values of its channels. Its size does not depend on the thread. */
export interface Kept {
  readonly version: 2;
  /** The latest checkpoint of each namespace as LangGraph's serializer writes it: `''` is the graph, others are sub-graphs. */
  readonly checkpoints: unknown;
  /** The order of the channel of messages, by their ids in the thread; absent where it is that of the thread. */
  readonly order?: readonly Range[];
  /** The ids that streamed messages have in the thread which no channel holds yet, by their ids in LangGraph. */
  readonly ids: Readonly<Record<string, string>>;
  /** The fields that hold objects of LangChain's own form, each with a hash of its JSON: nobody but the graph has written it. */
  readonly loadable: Readonly<Record<string, string>>;
  /** The fields that are null or absent, and whose channels hold `undefined`. */
  readonly unset: readonly string[];
  /** The nodes of the next super-step. */
  readonly next: readonly string[];
  /** What the tasks of the last super-step gave; absent where each node had one, and the changes of the step say all of it. */
  readonly given?: StepTasks;
  /** The ids of the tasks that come next, each with its node, in their order; absent where that is. */
  readonly tasks?: readonly (readonly [id: string, node: string])[];
}

export const keptField = field<Kept>({ type: 'object', description: 'What LangGraph keeps beside its channels' });
