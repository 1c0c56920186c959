import { fromUnknown, isServiceError, unavailable } from '@agent-workflow/kit/errors';
import type { Degraded, Health } from '@agent-workflow/runtime/health';
import { within, type Call } from '@agent-workflow/protos/call';
import type { Execution } from '@agent-workflow/protos/execution';
import type { Memory } from '@agent-workflow/protos/memory';
import type { Threads } from '@agent-workflow/protos/threads';

/** What the edge stands on. */
export interface Parts {
  /**
   * Whether the record can be read, and what else fails. Whoever asks within a second is given the same answer: nobody who may ask
   * without credentials is to cost the services more than that.
   * @throws Unavailable when the record cannot be read, or not in time.
   */
  readonly check: () => Promise<readonly Degraded[]>;
}

export interface PartsOptions {
  readonly threads: Pick<Threads, 'listOpenRuns'>;
  readonly health: Health;
  /** Services of other processes, which are asked too; those of this process report their failures themselves. */
  readonly remote?: { readonly execution: Pick<Execution, 'getHealth'>; readonly memory: Pick<Memory, 'get'> };
}

/** Probes come every few seconds and want to know now: milliseconds for the record, and for each of the others. */
const recordMs = 2000;
const otherMs = 1000;
/** How long an answer is given again, in milliseconds. */
const freshMs = 1000;

export function createParts({ threads, health, remote }: PartsOptions): Parts {
  const others = remote && {
    execution: watched(health, 'execution', otherMs, (call) => remote.execution.getHealth({}, call)),
    memory: watched(health, 'memory', otherMs, (call) =>
      remote.memory.get({ owner: nobody, memoryId: nobody }, call).catch(unlessNotFound),
    ),
  };
  const record = async (call: Call): Promise<unknown> => threads.listOpenRuns({ limit: 1 }, call);
  const readRecord = remote ? watched(health, 'threads', recordMs, record) : () => record(within(recordMs));

  const check = async (): Promise<readonly Degraded[]> => {
    const [read, execution] = await Promise.allSettled([readRecord(), others?.execution(), others?.memory()]);
    // What the execution service stands on counts in its own metrics, and here is only named.
    const behind = execution.status === 'fulfilled' ? execution.value?.degraded : undefined;
    if (read.status === 'fulfilled') return [...health.degraded(), ...(behind ?? [])];
    throw isServiceError(read.reason, 'Timeout')
      ? unavailable('the record is too slow to answer', read.reason)
      : read.reason;
  };

  let last: { readonly at: number; readonly answer: Promise<readonly Degraded[]> } | undefined;
  return {
    check: () => {
      if (!last || performance.now() - last.at > freshMs) {
        last = { at: performance.now(), answer: check() };
      }
      return last.answer;
    },
  };
}

/** An owner and a memory that cannot be: owners begin with their kind. */
const nobody = 'probe';

const reasons: Readonly<Partial<Record<string, string>>> = {
  Unavailable: 'it is away',
  Timeout: 'it does not answer in time',
};

/** The probe's memory is never there: a service that says so works. */
function unlessNotFound(error: unknown): void {
  if (fromUnknown(error).code !== 'NotFound') throw error;
}

/** Asks a service and reports how it does. */
function watched<T>(health: Health, name: string, ms: number, ask: (call: Call) => Promise<T>): () => Promise<T> {
  const part = health.part(name);
  return async () => {
    try {
      const answer = await ask(within(ms));
      part.works();
      return answer;
    } catch (error) {
      part.fails(reasons[fromUnknown(error).code] ?? 'it fails', error);
      throw error;
    }
  };
}
