import { inFlightBytes } from '@agent-workflow/runtime/budget';
import type { Values } from '@agent-workflow/kit/env';
import { healthy, type Health } from '@agent-workflow/runtime/health';
import { logFailures } from '@agent-workflow/runtime/retries';
import { newId } from '@agent-workflow/kit/ids';
import { every, settledWithin } from '@agent-workflow/kit/life';
import type { Log } from '@agent-workflow/kit/log';
import type { Execution } from '@agent-workflow/protos/execution';
import type { Memory } from '@agent-workflow/protos/memory';
import type { RunFiles } from '@agent-workflow/protos/run-files';
import type { Threads } from '@agent-workflow/protos/threads';
import { backlogBounds, threadCacheBytes, type executionSettings } from './config.ts';
import { openEndWatch } from './api/end-watch.ts';
import { createReduce } from './api/reduce.ts';
import { createExecution } from './api/execution.ts';
import { openHousekeeping } from './housekeeping.ts';
import { holdLease } from './worker/lease.ts';
import { openRegistration } from './registration.ts';
import type { Agents } from './record/agents.ts';
import { heldAgents } from './record/known-agents.ts';
import { createRegisteredAgents } from './record/registered-agents.ts';
import { createRegistry } from './record/registry.ts';
import type { CodeCalls } from './ports/code-calls.ts';
import type { RunControl } from './ports/control.ts';
import type { WorkerLeases } from './ports/leases.ts';
import type { RunLog } from './ports/log.ts';
import type { RunQueue } from './ports/queue.ts';
import { createLiveWorkers } from './worker/live-workers.ts';
import { createOpenRunCounts, type SweptRuns } from './worker/open-run-counts.ts';
import { createOverdueRuns } from './worker/overdue-runs.ts';
import { createRetiredSleepers } from './worker/retired-sleepers.ts';
import { createRunEnds } from './worker/run-ends.ts';
import { createSweep } from './worker/sweep.ts';
import { createSweepPace } from './worker/sweep-pace.ts';
import { createUnservedPools } from './worker/unserved-pools.ts';
import { unwatched, type Watchdog } from './watchdog/watchdog.ts';
import { createRecordClock } from './worker/record-clock.ts';
import { openWakes } from './worker/wakes.ts';
import type { OnDelivery } from './webhooks/deliver.ts';
import { openWebhooks } from './webhooks/open.ts';
import { createRefuseWebhook } from './webhooks/run-webhook.ts';
import { traceConsole } from './worker/trace-console.ts';
import { createWorker, type Worker, type WorkerOptions } from './worker/worker.ts';

interface OpenExecutionOptions {
  /** Without any there is nothing to run here. */
  readonly agents: Agents;
  readonly threads: Threads;
  readonly memory: Memory;
  /** Absent: nodes reach no files. */
  readonly files?: RunFiles | undefined;
  readonly queue: RunQueue;
  readonly leases: WorkerLeases;
  readonly eventLog: RunLog;
  readonly control: RunControl;
  readonly codeCalls: CodeCalls;
  /** Whether no other process holds agents: then they are registered here, at their revision. No when absent. */
  readonly registers?: boolean;
  /** Whether runs are driven here, beside being accepted and followed; yes when absent. */
  readonly drives?: boolean;
  /** Whether runs are accepted here; yes when absent. Then this process also fails the runs that no worker takes. */
  readonly accepts?: boolean;
  /**
   * Whether this process does the work that belongs to no run here: it takes over runs of dead workers, enqueues those that wait or wake,
   * finishes deletions and removes old logs. Yes when absent. A worker of a pool leaves that to the processes that accept runs.
   */
  readonly housekeeps?: boolean;
  /** Whether everyone on this machine is let in, and nobody else; no when absent. */
  readonly isLocal?: boolean;
  /** Stands on the record of the runs that are claimed here; a new id when absent. */
  readonly workerId?: string;
  readonly log: Log;
  readonly values: Values<typeof executionSettings>;
  /**
   * How often the sweep looks for runs without a live worker, in milliseconds. Beside other workers the sweep notices a death,
   * together with the lease; alone, it finds only what this process itself has lost.
   */
  readonly sweepMs: number;
  /** How often a waiting run is enqueued again, in case the queue lost it, in milliseconds; absent: every half minute. */
  readonly waitingMs?: number | undefined;
  /** The clock of this process, in milliseconds since 1970: by it threads are idle and events old. Runs go by that of the record. */
  readonly now?: () => number;
  /** Absent: nothing is watched. */
  readonly watchdog?: Watchdog;
  /** The health of the process; absent: nothing fails. */
  readonly health?: Pick<Health, 'degraded'>;
  /** Called with each run that is claimed here. */
  readonly onClaimed?: WorkerOptions['onClaimed'];
  /** Called when a run is not driven here any more. */
  readonly onDriven?: WorkerOptions['onDriven'];
  /** Called with the tokens by model that a commit from here has put on record. */
  readonly onUsage?: WorkerOptions['onUsage'];
  /** Called with what becomes of each attempt to deliver to a webhook. */
  readonly onDelivery?: OnDelivery;
  /** Called with how many deliveries to webhooks were due. */
  readonly onDeliveriesDue?: (count: number) => void;
  /** Called with what each whole sweep has found. */
  readonly onSwept?: (swept: SweptRuns) => void;
  /** Called every two seconds where runs are accepted: counts what scales workers. */
  readonly countRuns?: () => Promise<void>;
  /** Fires when the process is to stop before all of this is open. */
  readonly stopping?: AbortSignal;
}

/** An execution service that runs: disposing of it closes its queue, leases, log and control. */
interface OpenExecution extends AsyncDisposable {
  readonly execution: Execution;
  /** Takes no more runs and waits for those under way, at most `ms`; then hands off the rest. */
  readonly drain: (ms: number) => Promise<void>;
}

const usualWaitingMs = 30_000;

/** How often workers show how many runs they drive, and how often runs are counted, in milliseconds. */
const countMs = 2000;

/** Requeues the runs of dead workers, then starts to drive runs. */
export async function openExecution(options: OpenExecutionOptions): Promise<OpenExecution> {
  const { agents, threads, memory, files, queue, leases, eventLog, control, codeCalls, log, values } = options;
  const {
    drives = true,
    accepts = true,
    housekeeps = true,
    workerId = newId(),
    waitingMs = usualWaitingMs,
    now = Date.now,
    watchdog = unwatched,
    health = healthy,
  } = options;
  await using opening = new AsyncDisposableStack();
  opening.use(eventLog);
  opening.use(queue);
  opening.use(leases);
  opening.use(control);
  opening.use(codeCalls);
  const known = agents.areRegistered
    ? createRegisteredAgents({ threads, defaultName: agents.defaultName, log })
    : heldAgents(agents);
  const closing = new AbortController();
  const clock = createRecordClock({ now, log });
  const logSweepError = logFailures({ log, text: 'the sweep failed; the next one tries again' });
  const onSweepError = (error: unknown): void => {
    if (!closing.signal.aborted) logSweepError(error);
  };
  const ttlSeconds = accepts ? values.QUEUE_TTL : 0;
  const overdue =
    ttlSeconds === 0
      ? undefined
      : createOverdueRuns({ threads, ends: createRunEnds({ ...options, known }), log, ttlSeconds });
  const unserved = accepts ? createUnservedPools({ leases, workerId, log }) : undefined;
  const counts = createOpenRunCounts((swept) => {
    unserved?.see(swept);
    options.onSwept?.(swept);
  });
  const registry = createRegistry(threads);
  const liveWorkers = createLiveWorkers({ leases, workerId, registry, showMs: 2 * countMs });
  const pace = createSweepPace({ leases, waiting: queue.waiting, longestMs: waitingMs });
  const sweepRuns = createSweep({
    threads,
    queue,
    leases,
    waitingMs,
    overdue,
    counts,
    registry,
    pace,
    onlyOwn: !accepts,
    signal: closing.signal,
  });
  const sweep = async (worker?: Worker): Promise<void> => {
    const runs = await sweepRuns(worker);
    if (runs > 0) log.info({ runs }, 'runs without a worker were enqueued');
  };

  const hasAgents = agents.list.length > 0;
  const isOnly = options.registers === true;
  if (drives) opening.use(await openRegistration({ agents, threads, log, isOnly, stopping: options.stopping }));
  // A process that only accepts runs holds one, too: the sweep after its death enqueues the runs that it had put on record and not into the queue.
  const lease =
    (hasAgents && drives) || accepts
      ? opening.use(await holdLease({ leases, workerId, leaseMs: values.LEASE_MS, log }))
      : undefined;
  if (housekeeps && accepts) await sweep().catch(onSweepError);
  const tracesContent = (values.TRACE_CONTENT ?? (options.isLocal ? 'on' : 'off')) === 'on';
  if (tracesContent) opening.use(traceConsole());
  const worker =
    !lease || !hasAgents || !drives
      ? undefined
      : createWorker({
          workerId,
          agents,
          known,
          threads,
          memory,
          files,
          queue,
          eventLog,
          log,
          watchdog,
          lease,
          concurrency: values.RUN_CONCURRENCY,
          contextBytes: inFlightBytes(values),
          threadCacheBytes: threadCacheBytes(values),
          onClaimed: options.onClaimed,
          onDriven: options.onDriven,
          isSwept: housekeeps,
          clock,
          tracesContent,
          onUsage: options.onUsage,
        });
  if (worker) {
    opening.use(control.onStop(worker.stop));
    const show = async (): Promise<void> => leases.showDriven(workerId, worker.driven());
    await show();
    opening.use(every(countMs, show, () => undefined));
  }
  const { list, revision } = agents;
  const held = { agents: list.map(({ name }) => name), ...(revision === undefined ? {} : { revision }) };
  const serving =
    worker && opening.use(await codeCalls.serve(held, createReduce({ agents, log, onCode: watchdog.begin })));

  const parts = { threads, memory, eventLog, control, codeCalls, worker, known };
  if (accepts && options.countRuns) {
    await options.countRuns();
    opening.use(every(countMs, options.countRuns, () => undefined));
  }
  if (housekeeps) {
    const sweepMs = accepts ? options.sweepMs : Math.max(options.sweepMs, waitingMs);
    opening.use(every(sweepMs, async () => (pace.isDue() ? sweep(worker) : undefined), onSweepError));
    opening.use(every(options.sweepMs, createRetiredSleepers({ threads, queue, registry }), onSweepError));
    opening.use(openWakes({ threads, queue, clock, log }));
    opening.use(await openHousekeeping({ ...parts, log, values, now }));
    const { WEBHOOK_HOSTS: hosts, WEBHOOK_NETWORKS: networks } = values;
    const { onDelivery, onDeliveriesDue: onDue } = options;
    opening.use(openWebhooks({ threads, known, log, hosts, networks, onDelivery, onDue }));
    opening.defer(() => {
      closing.abort();
    });
  }
  const endWatch = opening.use(openEndWatch({ ...parts, firstMs: values.LEASE_MS, log }));

  const opened = opening.move();
  return {
    execution: createExecution({
      ...parts,
      queue,
      log,
      endWatch,
      refuseWebhook: createRefuseWebhook({ hosts: values.WEBHOOK_HOSTS, networks: values.WEBHOOK_NETWORKS }),
      health,
      counts: { read: () => ({ ...counts.read(), workers: liveWorkers.read() }) },
      backlog: backlogBounds(values, { areSeveral: agents.areRegistered === true || agents.list.length > 1 }),
    }),
    drain: async (ms) => {
      await Promise.all([serving && settledWithin(serving.leave(), ms), worker?.drain(ms)]);
    },
    [Symbol.asyncDispose]: async () => opened.disposeAsync(),
  };
}
