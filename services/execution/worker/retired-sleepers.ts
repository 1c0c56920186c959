import { eachOf } from '@agent-workflow/kit/each';
import type { SweepCalls } from '@agent-workflow/protos/threads';
import { named } from '../record/agents.ts';
import type { Registry } from '../record/registry.ts';
import type { RunQueue } from '../ports/queue.ts';
import { allSleepers, sleepingRuns } from './wakes.ts';

interface RetiredSleepersParts {
  readonly threads: Pick<SweepCalls, 'listSleepingRuns'>;
  readonly queue: Pick<RunQueue, 'enqueue'>;
  readonly registry: Pick<Registry, 'last'>;
  /** Milliseconds of a clock that only rises. */
  readonly elapsed?: () => number;
}

/** Time between two passes over the sleeping runs, in milliseconds: longer than processes keep a routing, and many runs take a while. */
const againMs = 30_000;
const enqueuedAtOnce = 32;

/**
 * Enqueues the sleeping runs of retired revisions before their time, for any worker of their agent: its claim ends them. To be called with
 * every sweep. It goes through all sleeping runs only after a retirement and after the start of the process, and again until a pass finds
 * none: a replica of the record that has not read the retirement refuses the claim.
 */
export function createRetiredSleepers(parts: RetiredSleepersParts): () => Promise<void> {
  const { threads, queue, registry, elapsed = () => performance.now() } = parts;
  let retired = none;
  let passes = 0;
  let nextAt = Infinity;

  const pass = async (): Promise<number> => {
    let found = 0;
    for await (const { runs } of sleepingRuns(threads, allSleepers)) {
      const lost = runs.filter(({ isRetired, isAsking }) => isRetired && !isAsking);
      await eachOf(lost, enqueuedAtOnce, ({ owner, threadId, runId, agent }) =>
        queue.enqueue({ owner, threadId, runId, ...named(agent) }),
      );
      found += lost.length;
    }
    return found;
  };

  return async () => {
    const now = retiredOf(registry);
    if (now !== retired) {
      retired = now;
      passes = 0;
      nextAt = now === none ? Infinity : -Infinity;
    }
    if (elapsed() < nextAt) return;
    nextAt = elapsed() + againMs;
    passes++;
    const found = await pass();
    if (passes > 1 && found === 0) nextAt = Infinity;
  };
}

const retiredOf = (registry: Pick<Registry, 'last'>): string =>
  JSON.stringify(
    registry
      .last()
      .flatMap(({ agent, revisions }) =>
        revisions.filter(({ state }) => state === 'retired').map(({ revision }) => [agent, revision]),
      ),
  );

const none = '[]';
