import { user, type Client, type Reply } from '../servers/client.ts';
import { failedByClaims } from './check.ts';

/** What one part of the mix has seen. */
export interface LoadFindings {
  readonly name: string;
  readonly counts: Readonly<Record<string, number>>;
  /** What does not hold, each in a sentence; empty when all does. */
  readonly faults: readonly string[];
}

/** One part of the mix, under way. */
export interface Load {
  /** Resolves when the errands under way have ended. */
  readonly stop: () => Promise<LoadFindings>;
}

/** What every part of the mix is given. */
export interface Means {
  /** Sends until it is answered: what is changed has a key. */
  readonly send: Client['send'];
  readonly random: () => number;
}

export interface Interrupt {
  readonly id: string;
  readonly value: unknown;
  readonly deadline?: string;
}

/** How a run ended. */
interface Ended {
  readonly status: string;
  readonly interrupts: readonly Interrupt[];
  /** Whether it was killed three times within one step. */
  readonly isFailedByClaims: boolean;
}

/** Absent things are not there yet: nothing is later than this once nothing is killed any more. In milliseconds of a machine with nothing else to do. */
export const soon = { timeoutMs: 150_000 };

/** What one caller does on a thread of its own, from its beginning to its end, and what is seen of it. */
export abstract class Errand {
  readonly faults: string[] = [];
  readonly counts: Record<string, number> = {};
  readonly threadId: string;
  protected readonly send: Client['send'];
  protected readonly random: () => number;
  readonly #agent: string;
  #requests = 0;

  constructor(threadId: string, agent: string, { send, random }: Means) {
    this.threadId = threadId;
    this.#agent = agent;
    this.send = send;
    this.random = random;
  }

  /** @throws Error where it cannot go on, which is a fault. */
  abstract make(): Promise<void>;

  protected count(what: string, times = 1): void {
    this.counts[what] = (this.counts[what] ?? 0) + times;
  }

  /** Sends what has its effect once, however often it is sent. */
  protected async change(path: string, body: object): Promise<Reply> {
    const key = `${this.threadId}-${String(this.#requests++)}`;
    return this.send('POST', path, body, { 'idempotency-key': key });
  }

  protected async sendRun(request: object = { messages: [user('go')] }, config: object = {}): Promise<Reply> {
    return this.change('/v1/runs', { ...request, config: { thread_id: this.threadId, agent: this.#agent, ...config } });
  }

  protected async start(request?: object, config?: object): Promise<string> {
    return acceptedRun(await this.sendRun(request, config));
  }

  /** Resolves with how a run ended. One that was killed three times within one step has failed as promised, and is counted. */
  protected async ended(runId: string): Promise<Ended> {
    const { status, body } = await this.send('GET', `/v1/runs/${runId}/wait`);
    if (status === 200) {
      const { meta } = body.data as { readonly meta: Pick<Ended, 'status'> & Partial<Ended> };
      return { status: meta.status, interrupts: meta.interrupts ?? [], isFailedByClaims: false };
    }
    const text = JSON.stringify(body);
    if (status !== 500) throw new Error(`run ${runId} ended with ${String(status)} ${text}`);
    const isFailedByClaims = text.includes(failedByClaims);
    if (isFailedByClaims) this.count('failed by claims');
    return { status: 'failed', interrupts: [], isFailedByClaims };
  }

  protected async runsOf(
    threadId: string,
  ): Promise<readonly { readonly run_id: string; readonly created_at: string }[]> {
    const { body } = await this.send('GET', `/v1/threads/${threadId}/runs?limit=1000`);
    return (body.data as { readonly runs: never }).runs;
  }

  protected async stateOf(threadId: string): Promise<Readonly<Record<string, unknown>>> {
    const { body } = await this.send('GET', `/v1/threads/${threadId}/state`);
    return (body.data as { readonly state: never }).state;
  }
}

export function acceptedRun({ status, body }: Reply): string {
  if (status !== 202) throw new Error(`a run was answered ${String(status)} ${JSON.stringify(body)}`);
  return (body.data as { readonly run_id: string }).run_id;
}

interface LoadOptions {
  readonly name: string;
  /** Errands that are under way at a time. */
  readonly count: number;
  /** What must have been counted at least once: what was never tried is not found to hold. */
  readonly needs: readonly string[];
  readonly begin: (threadId: string) => Errand;
  /** Called when no errand is under way: with the faults that only then are some, and what else was counted. */
  readonly end?: () => Promise<Omit<LoadFindings, 'name'>>;
}

/** Makes one errand after the other, until it is stopped. */
export function startLoad({ name, count, needs, begin, end }: LoadOptions): Load {
  const counts: Record<string, number> = {};
  const faults: string[] = [];
  let begun = 0;
  let isOver = false;
  const add = (found: Omit<LoadFindings, 'name'>, of: string): void => {
    for (const [what, times] of Object.entries(found.counts)) counts[what] = (counts[what] ?? 0) + times;
    faults.push(...found.faults.map((fault) => `${of}: ${fault}`));
  };
  const work = async (): Promise<void> => {
    while (!isOver) {
      const errand = begin(`${name}-${String(begun++)}`);
      await errand.make().catch((error: unknown) => errand.faults.push(String(error)));
      add(errand, errand.threadId);
    }
  };
  const working = Promise.all(Array.from({ length: count }, work));
  return {
    stop: async () => {
      isOver = true;
      await working;
      if (end) add(await end(), name);
      const missing = needs.filter((what) => !counts[what]).map((what) => `${name}: nothing counts as ${what}`);
      return { name, counts, faults: [...faults, ...missing] };
    },
  };
}
