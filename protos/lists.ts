import {
  failureCodes,
  failureReasons,
  modelParameters,
  type FailureCode,
  type FailureReason,
  type ModelParameter,
} from '@agent-workflow/kit/errors';

/**
 * The closed lists that the contexts share. Each is written only here. A field of a `.proto` whose comment ends in `list: <name>` has the
 * type of that list, and its value is checked against the list when a message arrives over gRPC. Code that handles the values one by
 * one uses a `Record`, or a `switch` without a default, so that a value that is added here does not compile until it is handled.
 */

/** The statuses of a run that waits for its thread or for a worker, and of one that has a worker. */
export const awakeStatuses = ['queued', 'running'] as const;

/** The statuses of a run that has not ended. One that is `sleeping` waits for a time, and has no worker. */
const openStatuses = [...awakeStatuses, 'sleeping'] as const;
export type OpenStatus = (typeof openStatuses)[number];

/** The statuses of a run that has ended. An interrupted run has ended too: the next run of its thread continues it. */
export const endStatuses = ['interrupted', 'completed', 'failed', 'stopped'] as const;
export type EndStatus = (typeof endStatuses)[number];

/** The statuses with which a run ends when another process than its worker ends it. */
const imposedEnds = ['failed', 'stopped'] as const satisfies readonly EndStatus[];
export type ImposedEnd = (typeof imposedEnds)[number];

export const runStatuses = [...openStatuses, ...endStatuses] as const;
export type RunStatus = (typeof runStatuses)[number];

/** Whether a run of this status has not ended. */
export const isOpen = (status: RunStatus): status is OpenStatus =>
  (openStatuses as readonly RunStatus[]).includes(status);

export type { FailureCode, FailureReason, ModelParameter };

/**
 * What happens on a thread: the status of the run that holds it; without one `interrupted` where the thread waits for answers or results of
 * tools, `failed` where its newest run did, else `idle`.
 */
export const threadStatuses = [...openStatuses, 'interrupted', 'failed', 'idle'] as const;
export type ThreadStatus = (typeof threadStatuses)[number];

/** What an interrupted thread waits for: answers to its questions, or else results of tools. */
export const waitsFor = ['answer', 'tool_results'] as const;
export type WaitsFor = (typeof waitsFor)[number];

/** What a search of threads can be ordered by. */
export const threadSorts = ['updated_at', 'created_at', 'thread_name', 'thread_id', 'status'] as const;
export type ThreadSort = (typeof threadSorts)[number];

/** How much of the state the events and the result of a run show. */
export const granularities = ['low', 'partial', 'full'] as const;
export type Granularity = (typeof granularities)[number];

/** What happens to a run whose thread is held by another run, and to that other run. */
export const multitaskStrategies = ['enqueue', 'reject', 'interrupt', 'rollback'] as const;
export type MultitaskStrategy = (typeof multitaskStrategies)[number];

/** What made a version of a thread: the input of a run, a step, a direct write, a fork, a rollback, or the return to an earlier version. */
export const checkpointSources = ['input', 'step', 'update', 'fork', 'rollback', 'restore'] as const;
export type CheckpointSource = (typeof checkpointSources)[number];

/** The life of a file's record: its bytes arrive, can be read, are to be removed. */
const fileStatuses = ['uploading', 'stored', 'deleting'] as const;
export type FileStatus = (typeof fileStatuses)[number];

/**
 * The life of a revision of an agent: it is registered, serves new runs, or a share of them, serves only runs that it has already, and is
 * taken out of use for good.
 */
export const revisionStates = ['registered', 'current', 'ramping', 'draining', 'drained', 'retired'] as const;
export type RevisionState = (typeof revisionStates)[number];

/** What the record keeps for an owner beside threads. */
const resourceKinds = [
  'schedule',
  'webhook',
  'push',
  'outbox',
  'delivery',
  'dead_letter',
  'trigger',
  'assistant',
  'assistant_version',
  'completion',
  'expiry',
  'item',
  'item_memory',
  'api_key',
  'question',
  'share',
  'shared_with',
  'audit',
] as const;
export type ResourceKind = (typeof resourceKinds)[number];

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
  ThreadStatus: threadStatuses,
  WaitsFor: waitsFor,
  ThreadSort: threadSorts,
  FailureCode: failureCodes,
  FailureReason: failureReasons,
  ModelParameter: modelParameters,
  Granularity: granularities,
  MultitaskStrategy: multitaskStrategies,
  CheckpointSource: checkpointSources,
  FileStatus: fileStatuses,
  RevisionState: revisionStates,
  ResourceKind: resourceKinds,
  MemoryType: memoryTypes,
  RetrievalStrategy: retrievalStrategies,
  DistanceMetric: distanceMetrics,
} as const;
export type ListName = keyof typeof lists;

/** Whether a value is of a list. */
export const isIn = <const T extends readonly string[]>(list: T, value: unknown): value is T[number] =>
  (list as readonly unknown[]).includes(value);

/** For one message: its fields with a value of a list, and its fields that hold messages with such fields. */
type ListFields = Readonly<Record<string, ListName | { readonly of: string }>>;

/** The messages of a service that have such fields, by name. */
export type MessageLists = Readonly<Record<string, ListFields>>;
