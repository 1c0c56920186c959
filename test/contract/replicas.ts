import { unnamedAgent, type Agents } from '@agent-workflow/execution/record/agents';
import { openInProcessRunQueue } from '@agent-workflow/execution/adapters/in-process/queue';
import { openInProcessWorkerLeases } from '@agent-workflow/execution/adapters/in-process/leases';
import { openInProcessCodeCalls } from '@agent-workflow/execution/adapters/in-process/code-calls';
import { openInProcessRunControl } from '@agent-workflow/execution/adapters/in-process/control';
import { openSqliteRunLog } from '@agent-workflow/execution/adapters/sqlite/run-log';
import { executionSettings } from '@agent-workflow/execution/config';
import type { CompiledGraph } from '@agent-workflow/graph';
import { openExecution } from '@agent-workflow/execution/open';
import type { CodeCalls } from '@agent-workflow/execution/ports/code-calls';
import type { WorkerLeases } from '@agent-workflow/execution/ports/leases';
import type { RunLog } from '@agent-workflow/execution/ports/log';
import type { RunQueue } from '@agent-workflow/execution/ports/queue';
import { readEnv } from '@agent-workflow/kit/env';
import { createLog } from '@agent-workflow/kit/log';
import { memorySettings } from '@agent-workflow/memory/config';
import { openMemory } from '@agent-workflow/memory/open';
import type { Execution } from '@agent-workflow/protos/execution';
import type { Memory } from '@agent-workflow/protos/memory';
import type { Threads } from '@agent-workflow/protos/threads';
import { link } from '@agent-workflow/protos/wire/link';
import { openSqliteThreadStore } from '@agent-workflow/threads/adapters/sqlite/store';
import type { ThreadStore } from '@agent-workflow/threads/ports/store';
import { createThreads } from '@agent-workflow/threads/threads';

const silentLog = createLog('test', 'silent');

/** What every replica stands on. */
export interface Ground {
  readonly threads: Threads;
  readonly memory: Memory;
  readonly queue: RunQueue;
  readonly leases: WorkerLeases;
  readonly eventLog: RunLog;
  readonly codeCalls: CodeCalls;
}

export interface ReplicaOptions {
  /** One graph without a name, or several agents. */
  readonly graph: CompiledGraph | Agents;
  /** How often it looks for runs that nobody drives, in milliseconds; absent: at its start only. */
  readonly sweepMs?: number;
  /** How often a run that waits is enqueued again, in milliseconds. */
  readonly waitingMs?: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly now?: () => number;
  /** Called with what the replica logs as a warning. */
  readonly onWarning?: (line: Readonly<Record<string, unknown>>) => void;
  /** What the replica sees of the ground: for gates, and for what is lost on the way. */
  readonly through?: (ground: Ground) => Partial<Ground>;
}

/** One process of the execution service. */
export interface Replica {
  readonly execution: Execution;
  readonly drain: (ms: number) => Promise<void>;
  /** As SIGKILL would: nothing that it asks for takes effect from here on, or is answered; nothing is cleaned up. */
  readonly kill: () => void;
  /** The others think it dead, and it does not know: its lease is gone and is renewed no more. */
  readonly loseLease: () => Promise<void>;
}

/** Replicas of the execution service on one record, one log, one queue. */
export interface Replicas extends Ground, AsyncDisposable {
  readonly open: (options: ReplicaOptions) => Promise<Replica>;
}

interface GroundOptions {
  /** The clock of the record. */
  readonly now?: () => number;
  /** Absent: one in memory. */
  readonly store?: ThreadStore;
}

export async function openReplicas({
  now = Date.now,
  store: given = openSqliteThreadStore({ path: ':memory:' }),
}: GroundOptions = {}): Promise<Replicas> {
  await using opening = new AsyncDisposableStack();
  const store = opening.use(given);
  const memory = opening.use(await openMemory({ path: ':memory:', values: readEnv(memorySettings, {}) }));
  const ground: Ground = {
    threads: link(createThreads({ store, now })),
    memory: link(memory.memory),
    queue: opening.use(openInProcessRunQueue()),
    leases: opening.use(openInProcessWorkerLeases()),
    codeCalls: opening.use(openInProcessCodeCalls()),
    eventLog: opening.use(openSqliteRunLog({ path: ':memory:' })),
  };
  const opened = opening.move();
  return {
    ...ground,
    open: async (options) => openReplica(ground, options, opened),
    [Symbol.asyncDispose]: async () => opened.disposeAsync(),
  };
}

/** The ground for a replica that puts runs into the queue and takes none out. */
export const withoutTaking = ({ queue }: Ground): Pick<Ground, 'queue'> => ({
  queue: {
    ...queue,
    take: async (_, signal) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error));
      }),
  },
});

const never = new Promise<never>(() => undefined);

async function openReplica(
  ground: Ground,
  { graph, sweepMs = 3_600_000, waitingMs, env = {}, now = Date.now, through = () => ({}), onWarning }: ReplicaOptions,
  opened: AsyncDisposableStack,
): Promise<Replica> {
  const death = new AbortController();
  const isDead = (): boolean => death.signal.aborted;
  const seen = { ...ground, ...through(ground) };
  const queue = mortal(seen.queue, isDead);
  let workerId = '';
  let isLost = false;
  const leases: WorkerLeases = {
    ...mortal(seen.leases, isDead),
    renew: async (id, leaseMs) => {
      workerId = id;
      if (!isLost && !isDead()) await seen.leases.renew(id, leaseMs);
    },
  };
  const own = await openExecution({
    agents: 'find' in graph ? graph : unnamedAgent(graph),
    control: openInProcessRunControl(),
    threads: mortal(seen.threads, isDead),
    memory: seen.memory,
    leases,
    eventLog: mortal(seen.eventLog, isDead),
    codeCalls: mortal(seen.codeCalls, isDead),
    queue: {
      ...queue,
      take: async (held, signal) =>
        seen.queue.take(held, AbortSignal.any([signal, death.signal])).catch((error: unknown) => {
          // Who is dead hears of nothing.
          if (isDead()) return never;
          throw error;
        }),
    },
    log: onWarning ? warning(onWarning) : silentLog,
    values: readEnv(executionSettings, { LEASE_MS: '60000', ...env }),
    ...{ sweepMs, waitingMs, now },
  });
  opened.defer(async () => {
    if (isDead()) return;
    await own.drain(1000);
    await own[Symbol.asyncDispose]();
  });
  const loseLease = async (): Promise<void> => {
    isLost = true;
    await ground.leases.release(workerId);
  };
  return {
    execution: link(own.execution),
    drain: own.drain,
    loseLease,
    kill: () => {
      death.abort(new Error('the replica was killed'));
      void loseLease();
    },
  };
}

const warning = (onWarning: NonNullable<ReplicaOptions['onWarning']>): typeof silentLog =>
  Object.assign(Object.create(silentLog) as typeof silentLog, { warn: onWarning });

/** The port as a process sees it until it dies: then nothing that is asked for happens, and no answer comes. Closing it is left to its owner. */
function mortal<P extends object>(port: P, isDead: () => boolean): P {
  const methods = Object.entries(port).map(([name, method]: [string, unknown]) => [
    name,
    typeof method !== 'function'
      ? method
      : (...args: unknown[]): unknown => {
          if (isDead()) return never;
          const result: unknown = (method as (...all: unknown[]) => unknown)(...args);
          if (!(result instanceof Promise)) return result;
          return result.then(
            (value: unknown) => (isDead() ? never : value),
            (error: unknown) => {
              if (isDead()) return never;
              throw error;
            },
          );
        },
  ]);
  return { ...Object.fromEntries(methods), [Symbol.asyncDispose]: async () => Promise.resolve() } as P;
}
