import { isServiceError } from '@agent-workflow/kit/errors';
import { settledWithin } from '@agent-workflow/kit/life';
import type { Log } from '@agent-workflow/kit/log';
import { requestContexts, readTraceContext, type RequestContext } from '@agent-workflow/kit/request-context';
import type { Replicas } from '@agent-workflow/protos/call';
import { defaultAgent } from '@agent-workflow/kit/agents';
import type { Memory } from '@agent-workflow/protos/memory';
import type { RunFiles } from '@agent-workflow/protos/run-files';
import type { ClaimedRun, RunCalls, RunReadCalls, StateCalls, ToolRecordCalls } from '@agent-workflow/protos/threads';
import type { ByteBudget } from '@agent-workflow/runtime/budget';
import { placeOfThrown } from '@agent-workflow/runtime/code-place';
import type { RunContext } from '@agent-workflow/graph/build/context';
import { readForeignSchema } from '@agent-workflow/graph/schema/foreign';
import type { CompiledGraph } from '@agent-workflow/graph/build/graph';
import { lateWords, type LateCall } from '@agent-workflow/graph/run/late-call';
import { shownOf, type CodeFault } from '@agent-workflow/graph/state/failure';
import { reasonOf } from '@agent-workflow/graph/state/reason-of';
import { isAway, isRefused } from '../record/away.ts';
import { fromOptionsJson, type RunOptions } from '../record/run-options.ts';
import { bytesOfState, type ThreadState } from '../record/thread-state.ts';
import { bindFiles } from '../steps/bound-files.ts';
import { bindMemory } from '../steps/bound-memory.ts';
import { driveRun, type Driven } from '../steps/drive.ts';
import { createPromptTools, type PromptTools } from '../steps/prompt-tools.ts';
import { RunUsage } from '../steps/run-usage.ts';
import { RunTrace } from '../steps/run-trace.ts';
import type { DriveOptions } from '../steps/driven-run.ts';
import { named, type Agents } from '../record/agents.ts';
import type { RunLog } from '../ports/log.ts';
import type { RunnableRun } from '../ports/queue.ts';
import type { Watchdog } from '../watchdog/watchdog.ts';
import type { ActiveRuns, RunReports } from './active-runs.ts';
import type { Requeue } from './requeue.ts';
import type { RunEnds } from './run-ends.ts';
import type { ThreadCache } from './thread-cache.ts';

interface DriveClaimedOptions {
  readonly agents: Agents;
  readonly threads: RunCalls & RunReadCalls & StateCalls & ToolRecordCalls;
  readonly memory: Memory;
  /** Absent: nodes reach no files. */
  readonly files?: RunFiles | undefined;
  readonly eventLog: RunLog;
  readonly log: Log;
  readonly watchdog: Watchdog;
  readonly now: () => number;
  /** Whether traces keep prompts, stacks and log lines. */
  readonly tracesContent: boolean;
  readonly onClaimed?: ((claimed: ClaimedRun, options: RunOptions) => void) | undefined;
  readonly onUsage?: DriveOptions['onUsage'];
  readonly active: ActiveRuns;
  readonly cache: ThreadCache;
  /** Bounds the contexts of the runs under way. */
  readonly contexts: ByteBudget;
  readonly ends: RunEnds;
  readonly requeue: Requeue;
  /** Whether a sweep of this process finds a run that could not be ended. */
  readonly isSwept: boolean;
}

/** Drives one claimed run until it has ended, sleeps or is released. */
export type DriveClaimed = (run: RunToDrive) => Promise<void>;

interface RunToDrive {
  readonly owner: string;
  readonly claimed: ClaimedRun;
  /** The thread state that the claim was made with. */
  readonly cached: ThreadState | undefined;
  /** The replicas that it was made with. */
  readonly replicas: Replicas;
  /** A moment of the event log before the run was accepted, where that is known. */
  readonly before?: number;
}

type DrivenRun = Pick<RunnableRun, 'owner' | 'threadId' | 'runId' | 'agent'>;

/** How long an ended run keeps its slot until its last event is written, in milliseconds. */
const publishMs = 5000;

export function createDriveClaimed(options: DriveClaimedOptions): DriveClaimed {
  const { agents, log, watchdog, active, cache, contexts, ends, requeue, isSwept } = options;
  const promptTools = createPromptTools();

  const settle = async (
    graph: CompiledGraph,
    run: DrivenRun,
    { thread, nextRunId, failure }: Driven,
  ): Promise<void> => {
    const { owner, threadId, runId } = run;
    if (failure) {
      const { code, node } = failure;
      const { reason, parameter } = shownOf(failure);
      const place = placeOf(graph, failure, node);
      log.warn({ err: failure, runId, threadId, code, node, reason, parameter, place }, 'a run failed');
    }
    if (thread) cache.set(owner, threadId, thread);
    else cache.forget(owner, threadId);
    await ends.enqueueNext(run, nextRunId);
  };

  /** A run is claimed for an agent that this worker holds. */
  const graphOf = ({ agent = defaultAgent }: ClaimedRun): CompiledGraph => {
    const graph = agents.find(agent)?.graph;
    if (!graph) throw new Error(`a run of the agent "${agent}" was claimed, which this worker does not hold`);
    return graph;
  };

  /** Handles a run that was not driven to its end. */
  const handleError = async (run: DrivenRun, error: unknown): Promise<void> => {
    const { owner, threadId, runId } = run;
    if (isServiceError(error, 'Stale')) {
      await ends.publish(owner, runId);
      return;
    }
    log.error({ err: error, runId, threadId }, 'a run could not be driven');
    // The record was unavailable. It has the committed steps: the run continues from there, and this claim does not count.
    if (isAway(error)) requeue(run);
    // Nobody knows whether another claim helps: the record fails the run after the usual number of them.
    else if (isRefused(error)) requeue({ ...run, claimCounts: true });
    else if (!(await ends.fail(run)) && !isSwept) requeue(run);
  };

  return async ({ owner, claimed, cached, replicas, before }) => {
    const { runId, threadId, epoch, agent, revision } = claimed;
    options.eventLog.setAgent(runId, agent ?? defaultAgent);
    if (before !== undefined) options.eventLog.beganAfter(runId, before);
    const run: DrivenRun = { owner, threadId, runId, ...named(agent) };
    using driving = active.begin({ ...run, ...named(agent, revision), takeoverEpoch: epoch });
    const { reports } = driving;
    const { signal } = reports;
    // Taken before anything of the run is parsed. When the signal fires, its sender publishes how the run ended.
    using room = await contexts.take(bytesOf(claimed, cached), signal).catch(() => undefined);
    if (!room) {
      cache.forget(owner, threadId);
      return;
    }
    const graph = graphOf(claimed);
    const runOptions = withFreeNames(graph, fromOptionsJson(claimed.optionsJson));
    options.onClaimed?.(claimed, runOptions);
    const parts = { graph, owner, claimed, cached, replicas, runOptions, reports, promptTools };
    await requestContexts.run(contextOfRun(claimed, runOptions), async () => {
      try {
        const driven = await watchdog.watch({ runId, threadId }, (onStep) =>
          driveRun(toDriveOptions(options, parts, onStep)),
        );
        const published = driven.published.catch(() => ends.publish(owner, runId));
        // A log that cannot be written delays no other run: the events wait on, without the slot.
        await Promise.all([settle(graph, run, driven), settledWithin(published, publishMs)]);
      } catch (error) {
        cache.forget(owner, threadId);
        if (!signal.aborted) await handleError(run, error);
      } finally {
        options.eventLog.leave(runId);
      }
    });
  };
}

/** Where the code stands that threw; where its node was added when its error does not say, as those of `fetch` do not. */
const placeOf = ({ added }: CompiledGraph, error: unknown, node = ''): string | undefined =>
  placeOfThrown(error) ?? placeOfThrown(added.get(node));

/** The bytes of JSON that a run begins with. */
function bytesOf({ state, appended }: ClaimedRun, cached: ThreadState | undefined): number {
  const known = state ? bytesOfStored(state) : cached === undefined ? 0 : bytesOfState(cached.size);
  return appended.reduce((sum, { json }) => sum + json.byteLength, known);
}

const bytesOfStored = ({ contextJson, fields }: NonNullable<ClaimedRun['state']>): number =>
  Object.values(fields).reduce((sum, { byteLength }) => sum + byteLength, contextJson.byteLength);

interface RunParts extends RunToDrive {
  readonly graph: CompiledGraph;
  readonly runOptions: RunOptions;
  readonly reports: RunReports;
  readonly promptTools: PromptTools;
}

function toDriveOptions(
  { threads, eventLog, log, memory, files, now, tracesContent, onUsage }: DriveClaimedOptions,
  { graph, owner, claimed, cached, replicas, runOptions, reports, promptTools }: RunParts,
  onStep: DriveOptions['onStep'],
): DriveOptions {
  const { runId, threadId, epoch } = claimed;
  const { signal } = reports;
  const onAwayOf = (service: string) => (error: unknown) => {
    const what = isRefused(error) ? 'refuses the calls of this worker' : 'is unavailable';
    log.warn({ err: error, runId, threadId }, `${service} ${what}; a node waits for it`);
  };
  const claim = { owner, runId, epoch };
  const scopes = { agent: claimed.agent, knowledge: runOptions.knowledge };
  const [onMemoryAway, onFilesAway] = [onAwayOf('the memory service'), onAwayOf('the store of files')];
  const servicesUnder: DriveOptions['servicesUnder'] = (until, key, opened) => ({
    memory: bindMemory(memory, { ...scopes, owner, threadId, key, signal: until, opened, onAway: onMemoryAway }),
    files: bindFiles(files, { claim, signal: until, opened, onAway: onFilesAway }),
  });
  return {
    owner,
    claimed,
    runOptions,
    graph,
    threads,
    cached,
    replicas,
    eventLog,
    servicesUnder,
    now,
    onUsage,
    onStep,
    promptTools,
    usage: new RunUsage(claimed),
    trace: new RunTrace({ now, keepsContent: tracesContent }),
    runContext: toRunContext(graph, claimed, runOptions, { signal, ...servicesUnder(signal) }),
    isRemote: remoteTools(graph, runOptions),
    onFault: ({ error, ...where }: CodeFault) => {
      const { reason, parameter } = reasonOf(error);
      const place = placeOf(graph, error, where.node);
      log.warn(
        { err: error, runId, threadId, ...where, reason, parameter, place },
        'code of the agent threw, and the run continues',
      );
    },
    onLate: firstOfEachNode(signal, ({ what, ...where }) => {
      log.warn({ runId, threadId, ...where }, `a ${where.tool === undefined ? 'node' : 'tool'} ${lateWords[what]}`);
    }),
    onReport: () => {
      reports.any = true;
    },
    onAway: (error) => {
      log.warn({ err: error, runId, threadId }, 'the record is unavailable for a commit; it is tried again');
    },
  };
}

/**
 * Calls `report` with each kind of late call of each node and tool the first time, and no more when the run is stopped: what its nodes have left
 * behind then is no mistake.
 */
function firstOfEachNode(signal: AbortSignal, report: (late: LateCall) => void): (late: LateCall) => void {
  let known: Set<string> | undefined;
  return (late) => {
    const own = JSON.stringify(late);
    if (signal.aborted || known?.has(own)) return;
    known = (known ?? new Set()).add(own);
    report(late);
  };
}

/**
 * The tools of the caller as they are offered. One that was declared before this revision of the graph may have the name of a tool that the graph has
 * since: the graph's counts.
 */
function withFreeNames({ tools }: CompiledGraph, options: RunOptions): RunOptions {
  if (options.tools.length === 0) return options;
  const free = options.tools.filter(({ name }) => !tools.some((own) => own.name === name));
  return { ...options, tools: free.map((tool) => ({ ...tool, parameters: readForeignSchema(tool.parameters) })) };
}

const noContext: RunContext['context'] = Object.freeze({});

const toRunContext = (
  graph: CompiledGraph,
  { runId, threadId }: ClaimedRun,
  { config, context = noContext, user, tools }: RunOptions,
  services: Pick<RunContext, 'signal' | 'memory' | 'files'>,
): RunContext => ({
  runId,
  threadId,
  config,
  context,
  user,
  ...services,
  tools: tools.length === 0 ? graph.tools : [...graph.tools, ...tools],
});

/** A run continues the trace of the request that started it, whichever worker claims it, and however late. */
const contextOfRun = ({ requestId, runId, threadId }: ClaimedRun, { accepted }: RunOptions): RequestContext => ({
  requestId,
  runId,
  threadId,
  ...(accepted && readTraceContext({ ...accepted })),
});

/** Whether the caller runs the tool of a name: the request declared it, or the graph marks it remote. */
const remoteTools =
  (graph: CompiledGraph, { tools }: RunOptions) =>
  (name: string): boolean =>
    tools.some((tool) => tool.name === name) || graph.tools.some((tool) => tool.name === name && !tool.run);
