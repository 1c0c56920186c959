import { fromUnknown, isServiceError } from '@agent-workflow/kit/errors';
import { settledWithin } from '@agent-workflow/kit/life';
import type { Log } from '@agent-workflow/kit/log';
import { within } from '@agent-workflow/protos/call';
import type { Memory } from '@agent-workflow/protos/memory';
import type { ClaimedRun, ClaimIntent, Threads } from '@agent-workflow/protos/threads';
import { bindMemory } from './bound-memory.ts';
import { driveRun, type Driven } from './drive.ts';
import type { RunContext } from './engine/context.ts';
import type { CompiledGraph } from './engine/graph.ts';
import { createHotThreads, type HotThread } from './hot-threads.ts';
import { fromOptionsJson, type RunOptions } from './options.ts';
import { publishEnd } from './publish-end.ts';
import type { RunLog, RunnableRun, RunQueue } from './port.ts';

export interface WorkerOptions {
  readonly workerId: string;
  readonly graph: CompiledGraph;
  readonly threads: Threads;
  readonly memory: Memory;
  readonly queue: RunQueue;
  readonly log: RunLog;
  readonly logger: Log;
  /** Runs driven at once. */
  readonly concurrency: number;
  /** Thread states kept in memory between runs, in bytes of JSON. */
  readonly hotBytes: number;
}

/** Claims runs and drives them, a bounded number at once. */
export interface Worker {
  /** Takes a slot for a run that is about to be accepted; `undefined` when none is free. */
  readonly reserve: (owner: string, threadId: string) => Reservation | undefined;
  /** Fires the signal of a run that is driven here. What it says and commits from now on is dropped. */
  readonly stop: (runId: string) => void;
  /** Whether the run is driven here, so that its end will be said here. */
  readonly drives: (runId: string) => boolean;
  /** What is remembered of a thread is dropped. */
  readonly forget: (owner: string, threadId: string) => void;
  /** Takes no more runs; resolves when those under way have ended, or after `ms`, when they are left to a later claim. */
  readonly drain: (ms: number) => Promise<void>;
}

/** A slot, and what to claim with: use exactly one of the two. */
export interface Reservation {
  readonly intent: ClaimIntent;
  readonly run: (claimed: ClaimedRun) => void;
  readonly release: () => void;
}

const callTimeoutMs = 30_000;

export function createWorker(options: WorkerOptions): Worker {
  const { workerId, graph, threads, queue, log, logger, concurrency } = options;
  const hot = createHotThreads(options.hotBytes);
  const running = new Map<string, AbortController>();
  const draining = new AbortController();
  let slots = concurrency;
  const waiting: (() => void)[] = [];
  const idle = new Set<() => void>();

  const release = (): void => {
    slots++;
    waiting.shift()?.();
    if (slots === concurrency) for (const done of idle) done();
  };

  const takeSlot = async (): Promise<void> => {
    while (slots === 0) await new Promise<void>((resolve) => waiting.push(resolve));
    slots--;
  };

  const intentOf = (remembered: HotThread | undefined): ClaimIntent => ({
    workerId,
    ...(remembered === undefined ? {} : { knownVersion: remembered.version }),
  });

  /**
   * Drives one claimed run to its end; the slot is the caller's. `remembered` is what the claim was asked with: it may have
   * left the memory since.
   */
  const drive = async (owner: string, claimed: ClaimedRun, remembered: HotThread | undefined): Promise<void> => {
    const { runId, threadId } = claimed;
    const controller = new AbortController();
    running.set(runId, controller);
    try {
      const runOptions = fromOptionsJson(claimed.optionsJson);
      const driven = await driveRun({
        owner,
        claimed,
        options: runOptions,
        graph,
        threads,
        remembered,
        run: contextOf(options, { owner, runId, threadId, runOptions, signal: controller.signal }),
        isRemote: remoteTools(graph, runOptions),
        log,
      });
      await Promise.all([settle(owner, threadId, runId, driven), driven.told]);
    } catch (error) {
      hot.forget(owner, threadId);
      // Whoever fired the signal, or took the run, says how it ended.
      if (controller.signal.aborted || isServiceError(error, 'Stale')) return;
      logger.error({ err: error, runId, threadId }, 'a run could not be driven');
      await giveUp(owner, runId, threadId);
    } finally {
      running.delete(runId);
    }
  };

  const settle = async (
    owner: string,
    threadId: string,
    runId: string,
    { thread, nextRunId, failure }: Driven,
  ): Promise<void> => {
    if (failure) logger.warn({ runId, threadId, code: failure.code, node: failure.node }, 'a run failed');
    if (thread) hot.set(owner, threadId, thread);
    else hot.forget(owner, threadId);
    if (nextRunId !== undefined) await queue.enqueue({ owner, threadId, runId: nextRunId });
  };

  /** Ends a run that the service itself could not drive. */
  const giveUp = async (owner: string, runId: string, threadId: string): Promise<void> => {
    try {
      const error = { code: 'INTERNAL_ERROR', message: 'the run could not be driven to its end' };
      const { nextRunId } = await threads.endRun({ owner, runId, status: 'failed', error }, within(callTimeoutMs));
      await publishEnd(options, await threads.getRun({ owner, runId }, within(callTimeoutMs)));
      if (nextRunId !== undefined) await queue.enqueue({ owner, threadId, runId: nextRunId });
    } catch (error) {
      logger.error({ err: error, runId }, 'a run could not be ended; the next start ends it');
    }
  };

  const claimAndDrive = async ({ owner, threadId, runId, takeover = false }: RunnableRun): Promise<void> => {
    const remembered = hot.get(owner, threadId);
    let claimed: ClaimedRun;
    try {
      claimed = await threads.claimRun(
        { owner, threadId, runId, takeover, ...intentOf(remembered) },
        within(callTimeoutMs),
      );
    } catch (error) {
      const { code } = fromUnknown(error);
      // Stale and NotFound are the answer to a repeated or outdated delivery: the run is no longer to be had.
      if (code !== 'Stale' && code !== 'NotFound') logger.error({ err: error, runId }, 'a run could not be claimed');
      return;
    }
    if (claimed.givenUp) await tellGivenUp(owner, claimed);
    else await drive(owner, claimed, remembered);
  };

  /** The record has given the run up: its followers hear of it, and the next run goes on. */
  const tellGivenUp = async (owner: string, { runId, threadId, nextRunId }: ClaimedRun): Promise<void> => {
    logger.error({ runId, threadId }, 'a run was claimed too often without a commit');
    await publishEnd(options, await threads.getRun({ owner, runId }, within(callTimeoutMs)));
    if (nextRunId !== undefined) await queue.enqueue({ owner, threadId, runId: nextRunId });
  };

  const consume = async (): Promise<void> => {
    for (;;) {
      await takeSlot();
      const run = await queue.take(draining.signal).catch(() => undefined);
      if (!run) {
        release();
        return;
      }
      void claimAndDrive(run).finally(release);
    }
  };
  void consume();

  return {
    reserve: (owner, threadId) => {
      if (slots === 0 || draining.signal.aborted) return undefined;
      slots--;
      const remembered = hot.get(owner, threadId);
      return {
        intent: intentOf(remembered),
        run: (claimed) => void drive(owner, claimed, remembered).finally(release),
        release,
      };
    },

    stop: (runId) => running.get(runId)?.abort(new Error('the run was stopped')),

    drives: (runId) => running.has(runId),

    forget: hot.forget,

    drain: async (ms) => {
      draining.abort(new Error('the worker drains'));
      const quiet = new Promise<void>((resolve) => {
        if (slots === concurrency) resolve();
        else idle.add(resolve);
      });
      if (await settledWithin(quiet, ms)) return;
      logger.warn({ runs: running.size }, 'runs under way are left to the next start');
      for (const controller of running.values()) controller.abort(new Error('the worker drains'));
    },
  };
}

/** Names of the tools that the caller runs: declared with the request, or so marked by the graph. */
function remoteTools(graph: CompiledGraph, { tools }: RunOptions): (name: string) => boolean {
  const names = new Set([...tools, ...graph.tools.filter(({ run }) => !run)].map(({ name }) => name));
  return (name) => names.has(name);
}

interface ContextParts {
  readonly owner: string;
  readonly runId: string;
  readonly threadId: string;
  readonly runOptions: RunOptions;
  readonly signal: AbortSignal;
}

function contextOf(
  { graph, memory }: WorkerOptions,
  { owner, runId, threadId, runOptions, signal }: ContextParts,
): RunContext {
  const { config, user, tools } = runOptions;
  return {
    runId,
    threadId,
    signal,
    config,
    user,
    memory: bindMemory(memory, { owner, threadId, signal }),
    tools: tools.length === 0 ? graph.tools : [...graph.tools, ...tools],
  };
}
