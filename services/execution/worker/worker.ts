import { setTimeout as delay } from 'node:timers/promises';
import { createByteBudget } from '@agent-workflow/runtime/budget';
import { fromUnknown, isServiceError } from '@agent-workflow/kit/errors';
import { settledWithin } from '@agent-workflow/kit/life';
import type { Log } from '@agent-workflow/kit/log';
import {
  fromContextHeaders,
  inRequestContext,
  readTraceContext,
  type RequestContext,
} from '@agent-workflow/kit/request-context';
import { within } from '@agent-workflow/protos/call';
import type { Memory } from '@agent-workflow/protos/memory';
import type { ClaimedRun, ClaimIntent, Threads } from '@agent-workflow/protos/threads';
import { bindMemory } from '../steps/bound-memory.ts';
import { total } from '../record/weight.ts';
import { driveRun, type Driven } from '../steps/drive.ts';
import type { BoundMemory, RunContext } from '@agent-workflow/graph/build/context';
import type { CodeFault } from '@agent-workflow/graph/state/failure';
import { nodeNames, type CompiledGraph } from '@agent-workflow/graph/build/graph';
import { createGiveBack } from './give-back.ts';
import { createHeldRuns, type HeldRun } from './held-runs.ts';
import { createHotThreads, type HotThread } from '../record/hot-threads.ts';
import { fromOptionsJson, type RunOptions } from '../record/run-options.ts';
import { publishEnd } from '../events/publish-end.ts';
import { createLastClaims } from './last-claims.ts';
import type { Lease } from './lease.ts';
import { isAway } from '../record/away.ts';
import type { RunLog, RunQueue, TakenRun } from '../ports/port.ts';
import type { Watchdog } from '../watchdog/watchdog.ts';

export interface WorkerOptions {
  readonly workerId: string;
  readonly graph: CompiledGraph;
  readonly threads: Threads;
  readonly memory: Memory;
  readonly queue: RunQueue;
  readonly log: RunLog;
  readonly logger: Log;
  readonly watchdog: Watchdog;
  /** Says to the others that this worker lives; the worker's own, held before it claims anything. */
  readonly lease: Pick<Lease, 'release'>;
  /** Runs driven at once. */
  readonly concurrency: number;
  /** What the contexts of the runs under way may have together, in bytes of JSON: a run that does not fit waits. */
  readonly contextBytes: number;
  /** Thread states kept in memory between runs, in bytes of JSON. */
  readonly hotBytes: number;
  /** Hears of each run that is claimed, with what it is to be run with: for metrics. */
  readonly onClaimed?: ((claimed: ClaimedRun, options: RunOptions) => void) | undefined;
}

/** Claims runs and drives them, a bounded number at once. */
export interface Worker {
  /** Stands on the record of the runs that it claims. */
  readonly id: string;
  /** Takes a slot for a run that is about to be accepted; `undefined` when none is free. */
  readonly reserve: (run: ReservedRun) => Reservation | undefined;
  /** Fires the signal of a run that is driven here. What it says and commits from now on is dropped. */
  readonly stop: (runId: string) => void;
  /** Whether the run is driven here, so that its end will be said here. */
  readonly drives: (runId: string) => boolean;
  /** Whether the run is driven here, or on its way: its claim may have been asked for. */
  readonly has: (runId: string) => boolean;
  /** What is remembered of a thread is dropped. */
  readonly forget: (owner: string, threadId: string) => void;
  /**
   * Takes no more runs. Resolves when those under way have ended, or after `ms`, when they are handed over: another worker
   * has them at once.
   */
  readonly drain: (ms: number) => Promise<void>;
}

export interface ReservedRun {
  readonly owner: string;
  readonly threadId: string;
  readonly runId: string;
}

/** A slot, and what to claim with: use exactly one of the two. */
export interface Reservation {
  readonly intent: ClaimIntent;
  readonly run: (claimed: ClaimedRun) => void;
  readonly release: () => void;
}

const callTimeoutMs = 30_000;

export function createWorker(options: WorkerOptions): Worker {
  const { workerId, graph, threads, queue, log, logger, watchdog, concurrency } = options;
  const hot = createHotThreads(options.hotBytes);
  const held = createHeldRuns();
  const contexts = createByteBudget(options.contextBytes);
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
    while (slots <= 0) await new Promise<void>((resolve) => waiting.push(resolve));
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
    const { runId, threadId, epoch } = claimed;
    using hold = held.hold({ owner, threadId, runId, takeoverEpoch: epoch });
    const { signal } = hold;
    // Before anything of it is parsed. Whoever fires the signal says how the run ended.
    using room = await contexts.take(bytesOf(claimed, remembered), signal).catch(() => undefined);
    if (!room) {
      hot.forget(owner, threadId);
      return;
    }
    const runOptions = fromOptionsJson(claimed.optionsJson);
    options.onClaimed?.(claimed, runOptions);
    const memoryUnder = (until: AbortSignal): BoundMemory =>
      bindMemory(options.memory, {
        ...{ owner, threadId, signal: until },
        onAway: (error) => {
          logger.warn({ err: error, runId, threadId }, 'the memory service is away; a node waits for it');
        },
      });
    const parts = {
      owner,
      claimed,
      options: runOptions,
      graph,
      threads,
      remembered,
      run: contextOf(options, { runId, threadId, runOptions, signal, memory: memoryUnder(signal) }),
      memoryUnder,
      isRemote: remoteTools(graph, runOptions),
      log,
      onFault: ({ error, ...where }: CodeFault) => {
        logger.warn({ err: error, runId, threadId, ...where }, 'code of the agent threw, and the run goes on');
      },
      onAway: (error: unknown) => {
        logger.warn({ err: error, runId, threadId }, 'the record does not take a commit; it is tried again');
      },
    };
    await inRequestContext(contextOfCall(claimed, runOptions), async () => {
      try {
        const driven = await watchdog.watch({ runId, threadId }, async (onStep) => driveRun({ ...parts, onStep }));
        const told = driven.told.catch(() => tellEnd(owner, runId));
        // A log that cannot be written holds up no other run: its events go on waiting, without the slot.
        await Promise.all([settle(owner, threadId, runId, driven), settledWithin(told, tellingMs)]);
      } catch (error) {
        await leave(owner, claimed, { error, signal });
      }
    });
  };

  /** What becomes of a run that was not driven to its end. */
  const leave = async (
    owner: string,
    { runId, threadId }: ClaimedRun,
    { error, signal }: { readonly error: unknown; readonly signal: AbortSignal },
  ): Promise<void> => {
    hot.forget(owner, threadId);
    // Whoever fired the signal says how the run ended.
    if (signal.aborted) return;
    if (isServiceError(error, 'Stale')) {
      await tellEnd(owner, runId);
      return;
    }
    logger.error({ err: error, runId, threadId }, 'a run could not be driven');
    // The record is away for now, and knows how far the run came: it goes on from there, and this claim does not count.
    if (isAway(error)) giveBack({ owner, runId, threadId });
    else await giveUp(owner, runId, threadId);
  };

  const settle = async (
    owner: string,
    threadId: string,
    runId: string,
    { thread, nextRunId, failure }: Driven,
  ): Promise<void> => {
    if (failure) logger.warn({ err: failure, runId, threadId, code: failure.code, node: failure.node }, 'a run failed');
    if (thread) hot.set(owner, threadId, thread);
    else hot.forget(owner, threadId);
    await passOn(owner, threadId, nextRunId);
  };

  /** The next run of a thread goes on. */
  const passOn = async (owner: string, threadId: string, nextRunId: string | undefined): Promise<void> => {
    if (nextRunId !== undefined) await queue.enqueue({ owner, threadId, runId: nextRunId });
  };

  /** Says from the record how a run ended, if it has: whoever stopped it may have died since. One taken over has not. */
  const tellEnd = async (owner: string, runId: string): Promise<void> => {
    try {
      const run = await threads.getRun({ owner, runId }, within(callTimeoutMs));
      if (run.end) await publishEnd(options, run);
    } catch (error) {
      // Whoever deletes a thread tells the ends of its runs.
      if (isServiceError(error, 'NotFound')) return;
      logger.error({ err: error, runId }, 'the end of a run could not be told; whoever follows it hears of it later');
    }
  };

  /** Ends a run that the service itself could not drive. */
  const giveUp = async (owner: string, runId: string, threadId: string): Promise<void> => {
    try {
      const error = { code: 'Internal', message: 'the run could not be driven to its end' } as const;
      const { nextRunId } = await threads.endRun({ owner, runId, status: 'failed', error }, within(callTimeoutMs));
      await Promise.all([tellEnd(owner, runId), passOn(owner, threadId, nextRunId)]);
    } catch (error) {
      logger.error({ err: error, runId }, 'a run could not be ended; it is taken over instead');
    }
  };

  const claimAndDrive = async ({ run, settle: decided }: TakenRun, notLast: boolean): Promise<void> => {
    const { owner, threadId, runId, takeoverEpoch } = run;
    const takeover = takeoverEpoch === undefined ? {} : { takeoverEpoch };
    const answered = held.expect(runId);
    const remembered = hot.get(owner, threadId);
    let claimed: ClaimedRun;
    try {
      claimed = await threads.claimRun(
        { owner, threadId, runId, notLast, nodes: nodeNames(graph), ...takeover, ...intentOf(remembered) },
        within(callTimeoutMs),
      );
    } catch (error) {
      answered();
      const { code } = fromUnknown(error);
      // Stale and NotFound are the answer to a repeated or outdated delivery: the run is no longer to be had.
      if (code === 'Stale' || code === 'NotFound') {
        decided();
        return;
      }
      logger.error({ err: error, runId }, 'a run could not be claimed; it is put into the queue again');
      if (isAway(error)) giveBack({ owner, threadId, runId });
      return;
    }
    decided();
    if (claimed.lastClaim) {
      answered();
      driveAlone(run);
      return;
    }
    const driven = claimed.givenUp ? tellGivenUp(owner, claimed) : drive(owner, claimed, remembered);
    answered();
    await driven;
  };

  /** The record has given the run up: its followers hear of it, and the next run goes on. */
  const tellGivenUp = async (owner: string, { runId, threadId, nextRunId, givenUp }: ClaimedRun): Promise<void> => {
    logger.error({ runId, threadId, code: givenUp?.code, why: givenUp?.message }, 'a run was ended by its claim');
    await Promise.all([tellEnd(owner, runId), passOn(owner, threadId, nextRunId)]);
  };

  /** Sees a run to its end in the slot that is the caller's. */
  const seeToEnd = async (taken: TakenRun, notLast: boolean): Promise<void> => {
    const { runId, threadId, trace = {} } = taken.run;
    try {
      await inRequestContext({ ...fromContextHeaders(trace), runId, threadId }, () => claimAndDrive(taken, notLast));
    } catch (error) {
      logger.error({ err: error, runId }, 'a run could not be seen to its end');
    } finally {
      release();
    }
  };

  const driveAlone = createLastClaims(async (run) => {
    // Whoever starts after this worker has drained finds the run on record.
    if (draining.signal.aborted) return;
    // One beside the slots: the last of them may be held by whoever waits for the queue.
    slots--;
    await seeToEnd({ run, settle: () => undefined }, false);
  });

  const giveBack = createGiveBack({
    ...{ workerId, threads, queue, logger, held, tellEnd },
    signal: draining.signal,
  });

  const takeRun = async (): Promise<TakenRun | undefined> => {
    const isDraining = (): boolean => draining.signal.aborted;
    while (!isDraining()) {
      try {
        // A run that is taken while there is no room for its context would wait here, and not where another replica finds it.
        (await contexts.take(1, draining.signal))[Symbol.dispose]();
        return await queue.take(draining.signal);
      } catch (error) {
        if (isDraining()) break;
        logger.error({ err: error }, 'no run can be taken from the queue; trying again');
        await delay(retakeMs, undefined, { signal: draining.signal }).catch(() => undefined);
      }
    }
    return undefined;
  };

  const consume = async (): Promise<void> => {
    for (;;) {
      await takeSlot();
      const taken = await takeRun();
      if (!taken) {
        release();
        return;
      }
      void seeToEnd(taken, true);
    }
  };
  void consume();

  /** Gives one run back to the record, so that the claim does not count; one that has ended meanwhile is nobody's. */
  const letGo = async ({ takeoverEpoch: epoch, ...run }: HeldRun): Promise<void> => {
    try {
      await threads.releaseRun({ ...run, epoch }, within(releaseMs));
      await queue.enqueue(run);
    } catch (error) {
      if (!isServiceError(error, 'Stale')) await queue.enqueue({ ...run, takeoverEpoch: epoch });
    }
  };

  /** What is left goes to whoever has a free place, from this worker's claims. */
  const handOver = async (quiet: Promise<void>): Promise<void> => {
    const left = held.all();
    await options.lease.release().catch((error: unknown) => {
      logger.warn({ err: error }, 'the lease could not be given up; it runs out');
    });
    held.stopAll(new Error('the worker drains'));
    // What has been said or committed is to arrive before another worker looks.
    await settledWithin(quiet, arriveMs);
    await Promise.all(left.map(letGo));
    logger.warn({ runs: left.length }, 'runs under way were handed over');
  };

  return {
    id: workerId,

    reserve: ({ owner, threadId, runId }) => {
      if (slots <= 0 || contexts.isFull() || draining.signal.aborted) return undefined;
      slots--;
      const answered = held.expect(runId);
      const remembered = hot.get(owner, threadId);
      return {
        intent: intentOf(remembered),
        run: (claimed) => {
          void drive(owner, claimed, remembered).finally(release);
          answered();
        },
        release: () => {
          answered();
          release();
        },
      };
    },

    stop: held.stop,
    drives: held.drives,
    has: held.has,
    forget: hot.forget,

    drain: async (ms) => {
      draining.abort(new Error('the worker drains'));
      const quiet = new Promise<void>((resolve) => {
        if (slots === concurrency) resolve();
        else idle.add(resolve);
      });
      // What is handed over is not to be given to this very worker.
      const [isQuiet] = await Promise.all([settledWithin(quiet, ms), queue.leave()]);
      if (isQuiet) await options.lease.release().catch(() => undefined);
      else await handOver(quiet);
    },
  };
}

/** The bytes of what a run begins with. */
function bytesOf({ state, appended }: ClaimedRun, remembered: HotThread | undefined): number {
  const known = state ? state.contextJson.byteLength + bytesOfFields(state.fields) : bytesOfThread(remembered);
  return appended.reduce((sum, { json }) => sum + json.byteLength, known);
}

const bytesOfFields = (fields: Readonly<Record<string, Uint8Array>>): number =>
  Object.values(fields).reduce((sum, { byteLength }) => sum + byteLength, 0);

const bytesOfThread = (thread: HotThread | undefined): number =>
  thread === undefined ? 0 : thread.weight.messages + total(thread.weight.fields);

/** How long a run that has ended keeps its slot until its last event is written, in milliseconds. */
const tellingMs = 5000;
/** How long the queue is left alone after it could not be asked, in milliseconds. */
const retakeMs = 500;
/** How long the record may take to let a run go, in milliseconds. */
const releaseMs = 2000;
/** How long what a worker has sent may take to arrive, in milliseconds. */
const arriveMs = 300;

/** A run goes on in the trace of the request that started it, whoever claims it, and however late. */
const contextOfCall = ({ requestId, runId, threadId }: ClaimedRun, { accepted }: RunOptions): RequestContext => ({
  requestId,
  runId,
  threadId,
  ...(accepted && readTraceContext({ ...accepted })),
});

/** Names of the tools that the caller runs: declared with the request, or so marked by the graph. */
function remoteTools(graph: CompiledGraph, { tools }: RunOptions): (name: string) => boolean {
  const names = new Set([...tools, ...graph.tools.filter(({ run }) => !run)].map(({ name }) => name));
  return (name) => names.has(name);
}

interface ContextParts {
  readonly memory: BoundMemory;
  readonly runId: string;
  readonly threadId: string;
  readonly runOptions: RunOptions;
  readonly signal: AbortSignal;
}

function contextOf(
  { graph }: WorkerOptions,
  { memory, runId, threadId, runOptions, signal }: ContextParts,
): RunContext {
  const { config, user, tools } = runOptions;
  return {
    runId,
    threadId,
    signal,
    config,
    user,
    memory,
    tools: tools.length === 0 ? graph.tools : [...graph.tools, ...tools],
  };
}
