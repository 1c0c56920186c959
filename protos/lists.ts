import { failureCodes, type FailureCode } from '@agent-workflow/kit/errors';

/**
 * The closed lists that the contexts share: each is written here and nowhere else. A field of a `.proto` whose comment ends in
 * `list: <name>` has the type of that list; where its message enters a process over gRPC its value is checked against the list.
 * Whoever handles the values one by one does so by a `Record` or a `switch` without a default, so that a value added here does
 * not compile until it is handled.
 */

/** A run that has not ended waits for its thread or a worker, or is driven by one. */
export const openStatuses = ['queued', 'running'] as const;
export type OpenStatus = (typeof openStatuses)[number];

/** How a run can end. An interrupted one has ended, too: the next run on its thread goes on where it stands. */
export const endStatuses = ['interrupted', 'completed', 'failed', 'stopped'] as const;
export type EndStatus = (typeof endStatuses)[number];

/** How a run can be ended by others than its worker. */
export const imposedEnds = ['failed', 'stopped'] as const satisfies readonly EndStatus[];
export type ImposedEnd = (typeof imposedEnds)[number];

export const runStatuses = [...openStatuses, ...endStatuses] as const;
export type RunStatus = (typeof runStatuses)[number];

/** Whether a run of this status has not ended: one that is asked for anew may have ended long ago. */
export const isOpen = (status: RunStatus): status is OpenStatus =>
  (openStatuses as readonly RunStatus[]).includes(status);

export type { FailureCode };

/** How much of the state the events and the result of a run show. */
export const granularities = ['low', 'partial', 'full'] as const;
export type Granularity = (typeof granularities)[number];

/** What becomes of a run whose thread another run holds, and of that other run. */
export const multitaskStrategies = ['enqueue', 'reject', 'interrupt', 'rollback'] as const;
export type MultitaskStrategy = (typeof multitaskStrategies)[number];

/** What made a version of a thread: a run's input, one of its steps, a direct write, the making of a fork, or a rollback. */
export const checkpointSources = ['input', 'step', 'update', 'fork', 'rollback'] as const;
export type CheckpointSource = (typeof checkpointSources)[number];

export const memoryTypes = [
  'episodic',
  'semantic',
  'procedural',
  'entity',
  'relationship',
  'custom',
  'declarative',
] as const;
export type MemoryType = (typeof memoryTypes)[number];

/** How a search of memories finds and orders its results. */
export const retrievalStrategies = ['similarity', 'temporal', 'relevance', 'hybrid', 'graph_traversal'] as const;
export type RetrievalStrategy = (typeof retrievalStrategies)[number];

/** How the distance of two vectors is measured. */
export const distanceMetrics = ['cosine', 'euclidean', 'dot_product', 'manhattan'] as const;
export type DistanceMetric = (typeof distanceMetrics)[number];

/** The lists by the names that the `.proto` files use, which are those of their types. */
export const lists = {
  OpenStatus: openStatuses,
  EndStatus: endStatuses,
  ImposedEnd: imposedEnds,
  RunStatus: runStatuses,
  FailureCode: failureCodes,
  Granularity: granularities,
  MultitaskStrategy: multitaskStrategies,
  CheckpointSource: checkpointSources,
  MemoryType: memoryTypes,
  RetrievalStrategy: retrievalStrategies,
  DistanceMetric: distanceMetrics,
} as const;
export type ListName = keyof typeof lists;

/** Whether a value is of a list. */
export const isIn = <const T extends readonly string[]>(list: T, value: unknown): value is T[number] =>
  (list as readonly unknown[]).includes(value);

/** Of one message: the fields that are of a list, and those that hold messages which have such fields. */
export type ListFields = Readonly<Record<string, ListName | { readonly of: string }>>;

/** The messages of a context that have such fields, by name. */
export type MessageLists = Readonly<Record<string, ListFields>>;
