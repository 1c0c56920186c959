import { createFirstOfKind } from '@agent-workflow/kit/first-of-kind';
import type { Log } from '@agent-workflow/kit/log';
import { counter, gauge, type Registry } from './metrics.ts';
import { growingSilence } from './retries.ts';

/** A part of the service that does not work as it should, and why; the reason names no host and no file. */
export interface Degraded {
  readonly name: string;
  readonly reason: string;
}

/** What one part reports of itself. */
export interface PartHealth {
  /** It fails for now. It is called for each failure; `error` is for the log. */
  readonly fails: (reason: string, error: unknown) => void;
  /** It works, or works again. */
  readonly works: () => void;
}

/** What the parts of one process report. */
export interface Health {
  readonly part: (name: string) => PartHealth;
  /** The parts that fail now, in the order in which they began to. */
  readonly degraded: () => readonly Degraded[];
}

/** Different parts a process may have. */
const maxParts = 20;

export const healthMetrics = {
  degraded: gauge(
    'agent_workflow_degraded',
    'Whether a part fails that this process stands on: 1, or 0 when it works',
    {
      part: maxParts,
    },
  ),
  failures: counter('agent_workflow_part_failures_total', 'Failures of a part that this process stands on', {
    part: maxParts,
  }),
};

/** For a part whose failures nobody watches. */
export const unwatchedPart: PartHealth = { fails: () => undefined, works: () => undefined };

/** Where no part reports anything. */
export const healthy: Pick<Health, 'degraded'> = { degraded: () => [] };

interface Failing {
  readonly reason: string;
  /** Whether a reason is to be logged now. It remembers one reason. */
  readonly isFirst: ReturnType<typeof createFirstOfKind>;
}

/**
 * Keeps what parts report. The log has it when a part begins to fail, when its reason changes, at growing intervals while it fails, and when
 * it works again. `now` is a clock in milliseconds that never goes back.
 */
export function createHealth(log: Log, registry?: Registry, now: () => number = () => performance.now()): Health {
  const meters = registry?.make(healthMetrics);
  const failing = new Map<string, Failing>();
  return {
    part: (name) => {
      const part = { part: name };
      meters?.degraded.set(part, 0);
      meters?.failures.add(part, 0);
      return {
        fails: (reason, error) => {
          meters?.failures.add(part);
          meters?.degraded.set(part, 1);
          const { isFirst } = failing.get(name) ?? { isFirst: createFirstOfKind({ ...growingSilence, max: 1, now }) };
          failing.set(name, { reason, isFirst });
          if (isFirst(reason)) log.error({ part: name, reason, err: error }, 'a part fails; it is tried again');
        },
        works: () => {
          if (!failing.delete(name)) return;
          meters?.degraded.set(part, 0);
          log.info({ part: name }, 'a part works again');
        },
      };
    },
    degraded: () => [...failing].map(([name, { reason }]) => ({ name, reason })),
  };
}
