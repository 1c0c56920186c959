import { defaultAgent } from '@agent-workflow/kit/agents';
import type { HeldAgents, TakenRun } from '../../../ports/queue.ts';
import type { Pool } from '../client/pools.ts';

/** Those that wait to take a run, in the order in which they came. */
interface Takers {
  readonly count: () => number;
  /** Waits for the next run. @throws the signal's reason when it fires first. */
  readonly take: (held: HeldAgents, signal: AbortSignal) => Promise<TakenRun>;
  /** Gives a run to the first taker that holds its agent and revision; `undefined` when there is none. */
  readonly next: (run: Partial<Pool>) => ((run: TakenRun) => void) | undefined;
}

interface Taker {
  readonly held: HeldAgents;
  readonly give: (run: TakenRun) => void;
}

/** The pools whose runs a worker takes: of each agent the runs without a revision, and those of its own. */
export const poolsHeld = ({ agents, revision }: HeldAgents): readonly Pool[] => [
  ...agents.map((agent) => ({ agent })),
  ...(revision === undefined ? [] : agents.map((agent) => ({ agent, revision }))),
];

const holds = ({ agents, revision: own }: HeldAgents, { agent = defaultAgent, revision }: Partial<Pool>): boolean =>
  agents.includes(agent) && (revision === undefined || revision === own);

/** `onTaker` is called with what each new taker holds. */
export function createTakers(onTaker: (held: HeldAgents) => void): Takers {
  const takers = new Set<Taker>();
  return {
    count: () => takers.size,

    next: (run) => {
      for (const { held, give } of takers) if (holds(held, run)) return give;
      return undefined;
    },

    take: (held, signal) =>
      new Promise((resolve, reject) => {
        signal.throwIfAborted();
        const stop = (): void => {
          takers.delete(taker);
          reject(signal.reason as Error);
        };
        const give = (run: TakenRun): void => {
          takers.delete(taker);
          signal.removeEventListener('abort', stop);
          resolve(run);
        };
        const taker: Taker = { held, give };
        takers.add(taker);
        signal.addEventListener('abort', stop, { once: true });
        onTaker(held);
      }),
  };
}
