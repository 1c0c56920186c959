import { threadText } from '@agent-workflow/kit/ids';
import { hideInherited } from '@agent-workflow/runtime/built-ins';
import type { Instruments, Registry } from '@agent-workflow/runtime/metrics';
import type { Attributes, Spans } from '@agent-workflow/runtime/spans';
import { defaultAgent } from '@agent-workflow/kit/agents';
import type { EndStatus } from '@agent-workflow/protos/lists';
import type { ClaimedRun, Threads } from '@agent-workflow/protos/threads';
import { LRUCache } from 'lru-cache';
import { surroundCode, type BeginCode } from '@agent-workflow/graph/run/around';
import { finishReasons, totalOf, type Usage } from '@agent-workflow/protos/usage';
import { executionMetrics } from './metrics.ts';
import { createRegistry } from './record/registry.ts';
import type { RunOptions } from './record/run-options.ts';
import type { Agents } from './record/agents.ts';
import type { WorkerLeases } from './ports/leases.ts';
import type { RunLog } from './ports/log.ts';
import type { RunQueue } from './ports/queue.ts';
import { createRevisionRuns } from './revision-runs.ts';
import { countWorkers } from './worker/live-workers.ts';
import { drivenOf, type SweptRuns } from './worker/open-run-counts.ts';
import type { Watchdog } from './watchdog/watchdog.ts';
import type { OnDelivery } from './webhooks/deliver.ts';

/** The parts of the execution service that are measured and traced. */
interface ObservedParts {
  readonly agents: Agents;
  readonly threads: Threads;
  readonly queue: RunQueue;
  readonly leases: WorkerLeases;
  readonly eventLog: RunLog;
  readonly watchdog: Watchdog;
  /** Called with each claimed run and its options. */
  readonly onClaimed?: (claimed: ClaimedRun, options: RunOptions) => void;
  /** Called with the tokens by model that a commit has put on record. */
  readonly onUsage?: (added: Usage) => void;
  /** Called with what becomes of each attempt to deliver to a webhook. */
  readonly onDelivery?: OnDelivery;
  /** Called with how many deliveries to webhooks were due. */
  readonly onDeliveriesDue?: (count: number) => void;
  /** Called with what each whole sweep has found. */
  readonly onSwept?: (swept: SweptRuns) => void;
  /** Counts the runs of each revision anew; to be called every few seconds where runs are accepted. */
  readonly countRuns?: () => Promise<void>;
}

interface ObserveOptions {
  readonly registry: Registry | undefined;
  readonly spans: Spans | undefined;
  /** Runs that may be driven here at once. */
  readonly slots: number;
}

type Meters = Instruments<typeof executionMetrics>;

/** The same parts, measured and traced. Parts without instruments are returned unchanged. */
export function observeExecution<P extends ObservedParts>(
  parts: P,
  { registry, spans, slots }: ObserveOptions,
): P & ObservedParts {
  if (!registry && !spans) return parts;
  const meters = registry?.make(executionMetrics);
  const observed = {
    ...parts,
    agents: surrounded(parts.agents, (agent) => beginCode(agent, meters, spans)),
    watchdog: watchRuns(parts.watchdog, meters, spans),
  };
  if (!meters) return observed;
  meters.slots.set({}, slots);
  meters.driving.set({}, 0);
  meters.queueWaiting.collectEach(() =>
    parts.queue.backlogs().map(({ agent, revision = '', waiting: value }) => ({ labels: { agent, revision }, value })),
  );
  return {
    ...observed,
    threads: countAccepted(parts.threads, meters),
    leases: watchLease(parts.leases, meters),
    eventLog: countEvents(parts.eventLog, meters),
    ...observeSweeps(parts, meters),
    onUsage: (added) => {
      for (const { model, inputTokens, outputTokens, finishReasons = {} } of added) {
        meters.tokens.add({ model, type: 'input' }, inputTokens);
        meters.tokens.add({ model, type: 'output' }, outputTokens);
        for (const [reason, answers] of Object.entries(finishReasons))
          meters.answers.add({ model, finish_reason: reason }, answers);
      }
    },
    onDelivery: (outcome, { since }) => {
      if (outcome === 'dead') meters.deadLetters.add({});
      else meters.webhookAttempts.add({ outcome });
      if (outcome === 'taken') meters.deliverySeconds.observe({}, Math.max(0, Date.now() - since) / 1000);
    },
    onDeliveriesDue: (count) => meters.deliveriesDue.set({}, count),
    onClaimed: ({ isTakeover, wakeAt }, { accepted }) => {
      if (wakeAt !== undefined) meters.woken.add({});
      else if (isTakeover) meters.takeovers.add({});
      else if (accepted) meters.wait.observe({}, Math.max(0, Date.now() - accepted.at) / 1000);
    },
  };
}

function surrounded(agents: Agents, beginOf: (agent: string) => BeginCode): Agents {
  const byName = new Map(
    agents.list.map((agent) => [agent.name, { ...agent, graph: surroundCode(agent.graph, beginOf(agent.name)) }]),
  );
  return {
    ...agents,
    list: [...byName.values()],
    find: (name) => byName.get(agents.find(name)?.name ?? ''),
  };
}

const sinceSeconds = (start: number): number => (performance.now() - start) / 1000;

/** A run is a span of its own below the request that started it, whichever worker drives it. */
function watchRuns(watchdog: Watchdog, meters: Meters | undefined, spans: Spans | undefined): Watchdog {
  return {
    ...watchdog,
    watch: async (run, work) => {
      const start = performance.now();
      const span = spans?.begin('run', { kind: 'consumer' });
      let error: string | undefined;
      meters?.driving.add({}, 1);
      try {
        return await (span ? span.run(() => watchdog.watch(run, work)) : watchdog.watch(run, work));
      } catch (thrown) {
        error = thrown instanceof Error ? thrown.name : 'Error';
        throw thrown;
      } finally {
        meters?.driving.add({}, -1);
        meters?.seconds.observe({}, sinceSeconds(start));
        span?.end(error);
      }
    },
  };
}

function beginCode(agent: string, meters: Meters | undefined, spans: Spans | undefined): BeginCode {
  return ({ kind, name, context }) => {
    const start = performance.now();
    const step = 'step' in context ? { 'agent_workflow.step': context.step } : {};
    const span = spans?.begin(`${kind} ${name}`, {
      attributes: { 'agent_workflow.agent': agent, [`agent_workflow.${kind}`]: name, ...step },
    });
    return {
      run: (work) => (span ? span.run(work) : work()),
      end: (how, usage) => {
        hideInherited();
        // Errors after a stop are consequences of the stop.
        const hasFailed = how === 'failed' && !context.signal.aborted;
        if (usage.length > 0) span?.set(toAttributes(usage));
        span?.end(hasFailed ? 'NodeFailed' : undefined);
        if (!meters) return;
        if (kind === 'node') meters.nodeSeconds.observe({ agent, node: name }, sinceSeconds(start));
        else meters.toolSeconds.observe({ agent, tool: name }, sinceSeconds(start));
        if (hasFailed && kind === 'node') meters.nodeFailures.add({ agent, node: name });
        if (hasFailed && kind === 'tool') meters.toolFailures.add({ agent, tool: name });
      },
    };
  };
}

/** The names are those of OpenTelemetry's conventions. Tokens of several models are summed, and then no model is named. */
function toAttributes(usage: Usage): Attributes {
  const [only, ...others] = usage;
  const { inputTokens, outputTokens } = totalOf(usage);
  const reasons = finishReasons.filter((reason) => usage.some(({ finishReasons: counts }) => counts?.[reason]));
  return {
    ...(only && others.length === 0 ? { 'gen_ai.request.model': only.model } : {}),
    'gen_ai.usage.input_tokens': inputTokens,
    'gen_ai.usage.output_tokens': outputTokens,
    ...(reasons.length > 0 && { 'gen_ai.response.finish_reasons': reasons }),
  };
}

/** Deletions whose stopped runs are known until they have finished. */
const deletionsKept = 1000;

/** Counts runs, ends, deletions and the like when the record has accepted the call. It accepts each end once. */
function countAccepted(threads: Threads, meters: Meters): Threads {
  const ended = (status: EndStatus): void => meters.ended.add({ status });
  const deleting = new LRUCache<string, number>({ max: deletionsKept });
  return {
    ...threads,
    acceptRun: async (request, call) => {
      const reply = await threads.acceptRun(request, call);
      if (reply.otherAgent !== undefined) return reply;
      meters.accepted.add({ agent: request.agent ?? defaultAgent });
      if (reply.stoppedRunId !== undefined) ended('stopped');
      return reply;
    },
    claimRun: async (request, call) => {
      const reply = await threads.claimRun(request, call);
      if (reply.givenUp) {
        if (reply.givenUp.code === 'Internal') meters.givenUp.add({});
        ended('failed');
      }
      return reply;
    },
    commitStep: async (request, call) => {
      const reply = await threads.commitStep(request, call);
      meters.steps.add({}, request.fused ? 2 : 1);
      const end = request.end ?? request.fused?.end;
      if (end) ended(end.status);
      return reply;
    },
    endRun: async (request, call) => {
      const reply = await threads.endRun(request, call);
      if (reply.endedNow) ended(reply.status);
      return reply;
    },
    // A deletion that is repeated names the same runs again: they are counted when it has finished.
    beginDelete: async (request, call) => {
      const reply = await threads.beginDelete(request, call);
      deleting.set(threadText(request), reply.stoppedRunIds.length);
      return reply;
    },
    finishDelete: async (request, call) => {
      const reply = await threads.finishDelete(request, call);
      meters.ended.add({ status: 'stopped' }, deleting.get(threadText(request)) ?? 0);
      deleting.delete(threadText(request));
      return reply;
    },
  };
}

/** Shows what the last whole sweep has found. What scales workers finds each agent that is configured or registered, also without runs. */
function observeSweeps(
  { agents, queue, leases, threads }: ObservedParts,
  meters: Meters,
): Required<Pick<ObservedParts, 'onSwept' | 'countRuns'>> {
  const configured = agents.list.map(({ name }) => name);
  const revisionRuns = createRevisionRuns({ queue, leases, registry: createRegistry(threads) });
  let last: SweptRuns | undefined;
  meters.agentRuns.collectEach(() => {
    const named = agents.areRegistered === true ? (last?.registered.map(({ agent }) => agent) ?? []) : configured;
    const runs = new Map(named.map((agent) => [agent, 0]));
    for (const pool of last?.pools.values() ?? [])
      runs.set(pool.agent, (runs.get(pool.agent) ?? 0) + pool.waiting + drivenOf(pool));
    return [...runs].map(([agent, value]) => ({ labels: { agent }, value }));
  });
  meters.revisionRuns.collectEach(() =>
    revisionRuns.read().map(({ agent, revision, runs: value }) => ({ labels: { agent, revision }, value })),
  );
  meters.revisionWorkers.collectEach(() => {
    const workersOf = countWorkers(leases.driven());
    return revisionRuns
      .read()
      .map(({ agent, revision }) => ({ labels: { agent, revision }, value: workersOf({ agent, revision }) }));
  });
  const onSwept = (swept: SweptRuns): void => {
    last = swept;
    revisionRuns.see(swept);
    const pools = [...swept.pools.values()];
    const now = Date.now();
    meters.waiting.set(
      {},
      pools.reduce((sum, { waiting }) => sum + waiting, 0),
    );
    meters.underWay.set(
      {},
      pools.reduce((sum, pool) => sum + drivenOf(pool), 0),
    );
    meters.oldestWait.set({}, Math.max(0, now - (swept.oldestAt ?? now)) / 1000);
    meters.swept.set({}, now / 1000);
  };
  return { onSwept, countRuns: revisionRuns.count };
}

function watchLease(leases: WorkerLeases, meters: Meters): WorkerLeases {
  let until = -Infinity;
  meters.leaseHeld.collect(() => (performance.now() < until ? 1 : 0));
  return {
    ...leases,
    renew: async (workerId, leaseMs) => {
      const start = performance.now();
      await leases.renew(workerId, leaseMs);
      until = start + leaseMs;
    },
    release: async (workerId) => {
      until = -Infinity;
      await leases.release(workerId);
    },
  };
}

function countEvents(eventLog: RunLog, meters: Meters): RunLog {
  let appended = 0;
  meters.events.collect(() => appended);
  const following = (): Disposable => {
    meters.followers.add({}, 1);
    return { [Symbol.dispose]: () => meters.followers.add({}, -1) };
  };
  return {
    ...eventLog,
    append: async (scope, after, events, options) => {
      await eventLog.append(scope, after, events, options);
      appended += events.length;
    },
    async *follow(runId, after, signal) {
      using _one = following();
      yield* eventLog.follow(runId, after, signal);
    },
    end: async (runId, signal) => {
      using _one = following();
      return await eventLog.end(runId, signal);
    },
  };
}
