import {
  remoteCallsIn,
  type Interrupt,
  type RemoteCall,
  type Run,
  type RunError,
  type RunEvent,
  type RunResult,
  type Usage,
} from '@agent-workflow/client';

/** What is known of the run that is followed, or of the newest one. */
export interface RunState {
  readonly runId: string;
  readonly status: Run['status'];
  readonly wakeAt?: string;
  readonly usage?: Usage;
  readonly error?: RunError;
  readonly interrupts?: readonly Interrupt[];
  /** The open calls of tools that run where the reader is. */
  readonly calls?: readonly RemoteCall[];
  readonly isLimitReached?: boolean;
  /** The nodes that have begun a step, by the newest of them. */
  readonly node?: string;
  /** How often a step ran again, after a failure or a crash. */
  readonly restarts: number;
  /** What the run has changed, at granularity `partial` and `full`. */
  readonly state?: Readonly<Record<string, unknown>>;
  readonly summary?: string;
  /** When a worker began it, and when it ended, as ISO 8601. */
  readonly startedAt?: string;
  readonly endedAt?: string;
}

/** A run of which nothing else is known. */
export const queuedRun = (runId: string): RunState => ({ runId, status: 'queued', restarts: 0 });

/** How a run stands after its last event. */
export function endOf(run: RunState, { event, data, timestamp }: RunEvent): RunState {
  const { wakeAt: _, node: __, ...rest } = { ...run, endedAt: timestamp };
  if (event === 'error') return { ...rest, status: 'failed', error: data as RunError };
  return { ...rest, ...resultOf(data as RunResult) };
}

/** What a result says of its run. */
export function resultOf(result: RunResult): Omit<RunState, 'restarts'> {
  const { messages, meta, recursion_limit_reached: isLimitReached, metadata, state, summary } = result;
  return {
    runId: meta.run_id,
    status: meta.status,
    isLimitReached,
    ...(metadata.usage && { usage: metadata.usage }),
    ...(meta.interrupts && { interrupts: meta.interrupts }),
    ...(meta.status === 'interrupted' && { calls: messages.flatMap(remoteCallsIn) }),
    ...(state && { state }),
    ...(summary !== undefined && { summary }),
  };
}

/** Whether a run has not ended. */
export const isUnderWay = (status: RunState['status'] | undefined): boolean =>
  status === 'queued' || status === 'running' || status === 'sleeping';
