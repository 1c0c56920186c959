import { every } from '@agent-workflow/kit/life';
import { fromUnknown, timeout, unavailable } from '@agent-workflow/kit/errors';
import type { Degraded, Health } from '@agent-workflow/runtime/health';
import { within, type Call } from '@agent-workflow/protos/call';
import type { Execution } from '@agent-workflow/protos/execution';
import type { Memory } from '@agent-workflow/protos/memory';
import type { SweepCalls } from '@agent-workflow/protos/threads';

/** Checks the services behind the gateway. */
export interface ReadinessCheck {
  /**
   * The parts that fail, as the log and the metrics have them. What the services answer is cached for a second, so that probes, which need
   * no credentials, cannot load the services.
   * @throws Unavailable when what is known of the record is that it cannot be read.
   */
  readonly check: () => Promise<readonly Degraded[]>;
}

interface FilesCheck {
  /** Whether the store of files can be used now. @throws Unavailable; the signal's reason. */
  readonly check: (signal: AbortSignal) => Promise<void>;
}

interface ReadinessCheckOptions {
  readonly threads: Pick<SweepCalls, 'listOpenRuns'>;
  readonly health: Health;
  /** Where the bytes of files are. */
  readonly files: FilesCheck;
  /** Services of other processes, which are called; those of this process report their failures themselves. */
  readonly remote?: { readonly execution: Pick<Execution, 'getHealth'>; readonly memory: Pick<Memory, 'get'> };
}

/** Deadlines of the calls to the record and to each of the others, in milliseconds. */
const recordMs = 2000;
const otherMs = 1000;
/** How long a result is cached, in milliseconds. */
const cacheMs = 1000;

export function createReadinessCheck({ threads, health, files, remote }: ReadinessCheckOptions): ReadinessCheck {
  const others = remote && {
    execution: reported(health, 'execution', otherMs, (call) => remote.execution.getHealth({}, call)),
    memory: reported(health, 'memory', otherMs, (call) =>
      remote.memory.get({ owner: probe, memoryId: probe }, call).catch(unlessNotFound),
    ),
  };
  const checkFiles = reported(health, 'files', otherMs, ({ deadline }) => endsBy(deadline, files.check));
  const record = remote ? 'threads' : 'record';
  const readRecord = reported(health, record, recordMs, (call) => threads.listOpenRuns({ limit: 1 }, call));

  /** Lets each report what it finds, and gives what the execution service says of itself. */
  const checkAll = async (): Promise<readonly Degraded[]> => {
    const [execution] = await Promise.allSettled([others?.execution(), others?.memory(), checkFiles(), readRecord()]);
    // The servers of the execution service are measured by its own metrics; here they are only listed.
    return execution.status === 'fulfilled' ? (execution.value?.degraded ?? []) : [];
  };

  let last: { readonly at: number; readonly result: Promise<readonly Degraded[]> } | undefined;
  return {
    check: async () => {
      if (!last || performance.now() - last.at > cacheMs) last = { at: performance.now(), result: checkAll() };
      const ofExecution = await last.result;
      const reason = health.unreadable(record);
      if (reason !== undefined) throw unavailable(`${record}: ${reason}`);
      return [...health.degraded(), ...ofExecution];
    },
  };
}

/** Between two checks that nobody asks for, in milliseconds: alerts look every half minute, and a bucket is asked each time. */
const watchMs = 15_000;

/**
 * Checks at once and again and again, so that the log and the metrics say what fails although nobody asks: the platform asks `/readyz` only until the
 * process has begun. A check reports what it finds itself.
 */
export function watchReadiness({ check }: ReadinessCheck, everyMs = watchMs): AsyncDisposable {
  const checkQuietly = (): Promise<void> =>
    check().then(
      () => undefined,
      () => undefined,
    );
  void checkQuietly();
  return every(everyMs, checkQuietly, () => undefined);
}

/** An owner and a memory that cannot exist: every real owner begins with its kind. */
const probe = 'probe';

const reasons: Readonly<Partial<Record<string, string>>> = {
  Unavailable: 'it is unavailable',
  Timeout: 'it does not answer in time',
};

/** The probe's memory never exists: NotFound means that the service works. */
function unlessNotFound(error: unknown): void {
  if (fromUnknown(error).code !== 'NotFound') throw error;
}

/** Gives the work a signal that fires at the deadline. */
async function endsBy(deadline: number, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(timeout('no answer in time')), deadline - Date.now());
  try {
    await work(late.signal);
  } finally {
    clearTimeout(timer);
  }
}

/** A call to a service that also reports its success or failure. */
function reported<T>(health: Health, name: string, ms: number, request: (call: Call) => Promise<T>): () => Promise<T> {
  const part = health.part(name, 'check');
  return async () => {
    try {
      const reply = await request(within(ms));
      part.works();
      return reply;
    } catch (error) {
      part.fails(reasons[fromUnknown(error).code] ?? 'it fails', error);
      throw error;
    }
  };
}
