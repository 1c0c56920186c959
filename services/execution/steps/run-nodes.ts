import { isRunFailure, type RunFailure } from '@agent-workflow/graph/state/failure';
import { runStep } from '@agent-workflow/graph/run/step';
import type { StepTrace } from '@agent-workflow/graph/trace/step-trace';
import type { NodeResult } from '@agent-workflow/graph/run/continuation';
import type { StepResult } from '@agent-workflow/graph/run/super-step';
import { chunksOf } from '@agent-workflow/graph/state/message-chunks';
import { hideInherited } from '@agent-workflow/runtime/built-ins';
import { within, type Call } from '@agent-workflow/protos/call';
import type { BranchRecords } from '@agent-workflow/graph/run/branch-records';
import type { NoteToolResultRequest, ToolRecordCalls } from '@agent-workflow/protos/threads';
import type { ToolCallRecord, ToolCallRecords } from '@agent-workflow/graph/run/tool-call-records';
import type { EventWriter } from '../events/event-writer.ts';
import { whileAway } from '../record/away.ts';
import { fromJson } from '../record/json.ts';
import { isServiceAway } from './node-calls.ts';
import { awakeNodes, publish, type DriveOptions, type StepState } from './driven-run.ts';

/** What a step came to, and how often its nodes began again after an error. */
export interface RanStep extends StepResult {
  readonly retries: number;
  /** Absent where no node ran. */
  readonly trace?: StepTrace;
}

/** Does the work now, or when it may be done. `content` is the JSON value that is kept while it waits. */
export type Later = (content: unknown, work: () => void) => void;

/** Holds nothing back. */
const atOnce: Later = (_content, work) => {
  work();
};

type StepParts = Parameters<typeof runStep>[0];

/** Of a step that has begun early. */
export interface EarlyParts {
  /** Absent: those of the run. */
  readonly runContext?: DriveOptions['runContext'];
  readonly servicesUnder?: DriveOptions['servicesUnder'];
  /** Absent: what nodes emit is published at once. */
  readonly publishLater?: Later;
  /** As in the engine's step. */
  readonly countsFrom?: () => Promise<void>;
  readonly onToolTurn?: StepParts['onToolTurn'] | undefined;
}

/**
 * Runs the nodes of one step, and publishes what they emit as soon as `publishLater` lets it.
 * @throws RunFailure when a node fails; the store's own error when a store is the reason.
 */
export async function runNodes(
  options: DriveOptions,
  events: EventWriter,
  runState: StepState,
  early: EarlyParts = {},
): Promise<RanStep> {
  const { runContext = options.runContext, servicesUnder = options.servicesUnder, publishLater = atOnce } = early;
  const { nodes, step } = runState;
  const awake = awakeNodes(runState);
  options.onStep(awake);
  // The beginning of the first step was published when the log was opened.
  if (step !== options.claimed.step) {
    publishLater('', () => {
      const started = awake.map((node) =>
        events.write('on_chain_stream', { node, step, status: 'started' }, { node, step }),
      );
      publish(options, events, started);
    });
  }
  let returned: Map<string, NodeResult> | undefined;
  const records = new StepRecords(options, step, runContext.signal);
  const publishStatus = (node: string, what: object, content: unknown = ''): void => {
    if (runContext.signal.aborted) return;
    publishLater(content, () => {
      publish(options, events, [events.write('on_chain_stream', { node, step, ...what }, { node, step })]);
    });
  };
  let retries = 0;
  const { claimed } = options;
  const isTakeover = step === claimed.step && claimed.isTakeover && claimed.wakeAt === undefined;
  const trace = options.trace.begin(runState.at, isTakeover);
  const running = runStep({
    span: trace.step,
    graph: options.graph,
    nodes,
    number: step,
    at: runState.at,
    now: options.now,
    state: runState.state,
    run: runContext,
    countsFrom: early.countsFrom,
    onToolTurn: early.onToolTurn,
    servicesUnder,
    continuation: runState.continuation,
    answers: runState.answers,
    answeredBy: runState.answeredBy,
    keys: options.runOptions.retry,
    returned: runState.returned,
    onReturned: (node, result) => (returned ??= new Map()).set(node, result),
    isRemote: options.isRemote,
    toolCallRecords: records,
    branchRecords: records,
    onFault: options.onFault,
    onLate: options.onLate,
    onUsage: (used) => options.usage.add(used),
    onRestart: (node, attempt, branch) => {
      retries += 1;
      publishStatus(node, { status: 'restarted', attempt, ...ofBranch(branch) });
    },
    onProgress: (node, custom, branch) => {
      options.onReport();
      publishStatus(node, { status: 'progress', ...ofBranch(branch), custom }, custom);
    },
    ...(options.runOptions.streamsSubgraphs === true && {
      onInner: (node: string, inner: unknown) => publishStatus(node, { status: 'subgraph', inner }, inner),
    }),
    onHeld: (node, message) => {
      if (runContext.signal.aborted) return;
      const { message_id: messageId, role } = message;
      for (const chunk of chunksOf(message, events.published.message(messageId)))
        publish(options, events, [events.chunk(node, step, { messageId, role, chunk })]);
    },
    onChunk: (node, chunk) => {
      if (runContext.signal.aborted) return;
      publishLater(chunk.chunk, () => {
        publish(options, events, [events.chunk(node, step, chunk)]);
      });
    },
  });
  try {
    const result = await running;
    return { ...result, retries, trace };
  } catch (error) {
    const cause = isRunFailure(error) ? error.cause : undefined;
    // A store that is unavailable, or refuses the worker, does not fail the run: it is requeued, and its step runs again.
    const thrown = records.failure ?? (isServiceAway(cause) ? cause : error);
    if (isRunFailure(thrown)) leftByStep.set(thrown, { returned, hasRecords: records.mayExist(), trace });
    throw thrown;
  } finally {
    hideInherited();
  }
}

/** What is left of a step of which a node failed. */
interface Left {
  /** What the other nodes had returned. */
  readonly returned: ReadonlyMap<string, NodeResult> | undefined;
  readonly hasRecords: boolean;
  readonly trace: StepTrace;
}

const leftByStep = new WeakMap<RunFailure, Left>();

/** What a failure has left of its step; `undefined` when it is that of no node. */
export const leftOf = (failure: RunFailure): Left | undefined => leftByStep.get(failure);

const ofBranch = (branch: number | undefined): object => (branch === undefined ? {} : { branch });

const callTimeoutMs = 30_000;
/** How long a branch waits for an unavailable record, in milliseconds. After that the run is released, and the step runs again. */
const waitMs = 60_000;

/**
 * How long results of branches are kept where nothing removes them with the run. They are of use only until their step is committed, or tried
 * again after a failure, for which the record leaves five days; a step that no worker could commit for so long runs all its branches again.
 */
const keepSeconds = 7 * 24 * 3600;

/** Records of at-most-once tool calls, and results of branches: stored with the thread behind the fence of the step's commit. */
class StepRecords implements ToolCallRecords, BranchRecords {
  /** Why something could not be read or stored. The store is the reason that the step failed then, not its node. */
  failure: unknown;
  readonly #options: DriveOptions;
  readonly #step: number;
  readonly #signal: AbortSignal;
  #made: Set<string> | undefined;
  #isUsed = false;

  constructor(options: DriveOptions, step: number, signal: AbortSignal) {
    this.#options = options;
    this.#step = step;
    this.#signal = signal;
  }

  /** Whether the step has records, or an earlier attempt at it may have left some. */
  mayExist(): boolean {
    const { claimed, runOptions } = this.#options;
    if (this.#isUsed) return true;
    return this.#step === claimed.step && (claimed.isTakeover || runOptions.retry?.hasRecords === true);
  }

  async started(callKey: string): ReturnType<ToolCallRecords['started']> {
    try {
      const { isNew, resultJson } = await this.#noteStarted(callKey);
      if (!resultJson) return { isNew };
      const record = fromJson(resultJson) as ToolCallRecord;
      return { isNew, record: this.#made?.has(callKey) ? withoutUsage(record) : record };
    } catch (error) {
      this.failure ??= error;
      throw error;
    }
  }

  async ended(callKey: string, record: ToolCallRecord): Promise<void> {
    this.#made = (this.#made ?? new Set()).add(callKey);
    try {
      await this.#noteResult({ callKey, resultJson: Buffer.from(JSON.stringify(record)) });
    } catch {
      // The step's commit stores the result, too. Only a death before that commit leaves the outcome unknown.
    }
  }

  async find(callKey: string): Promise<string | undefined> {
    const { claimed } = this.#options;
    // Only the first step of a takeover may have been begun before, or of a run that failed in it.
    const mayHave = claimed.isTakeover || this.#options.runOptions.retry !== undefined;
    if (!mayHave || this.#step !== claimed.step) return undefined;
    const { resultJson } = await this.#whileAway(() => this.#noteStarted(callKey));
    return resultJson && Buffer.from(resultJson).toString();
  }

  async save(callKey: string, result: string): Promise<void> {
    const resultJson = Buffer.from(result);
    await this.#whileAway(() => this.#noteResult({ callKey, resultJson, keepSeconds }));
  }

  #noteStarted(callKey: string): ReturnType<ToolRecordCalls['noteToolStarted']> {
    this.#isUsed = true;
    return this.#options.threads.noteToolStarted({ ...this.#fence(), callKey }, this.#call());
  }

  async #noteResult(result: Pick<NoteToolResultRequest, 'callKey' | 'resultJson' | 'keepSeconds'>): Promise<void> {
    this.#isUsed = true;
    await this.#options.threads.noteToolResult({ ...this.#fence(), ...result }, this.#call());
  }

  #fence(): Pick<NoteToolResultRequest, 'owner' | 'threadId' | 'runId' | 'epoch' | 'step' | 'recordOf'> {
    const { owner, claimed, runOptions } = this.#options;
    const { threadId, runId, epoch } = claimed;
    const { retry } = runOptions;
    return { owner, threadId, runId, epoch, step: this.#step, ...(retry && { recordOf: retry.run }) };
  }

  #call(): Call {
    return { ...within(callTimeoutMs), replicas: this.#options.replicas };
  }

  async #whileAway<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await whileAway(work, { signal: this.#signal, onAway: this.#options.onAway, forMs: waitMs });
    } catch (error) {
      this.failure ??= error;
      throw error;
    }
  }
}

function withoutUsage(record: ToolCallRecord): ToolCallRecord {
  if (!('output' in record)) return record;
  const { usage: _, ...rest } = record;
  return rest;
}
