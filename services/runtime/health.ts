import { createFirstOfKind } from '@agent-workflow/kit/first-of-kind';
import type { Log } from '@agent-workflow/kit/log';
import { counter, gauge, type Registry } from './metrics.ts';
import { growingSilence } from './retries.ts';

/** A part of the service that does not work as it should, and why; the reason names no host and no file. */
export interface Degraded {
  readonly name: string;
  readonly reason: string;
}

/** What somebody reports of a part. */
export interface PartHealth {
  /** It fails for now: nothing of it can be used, or only reading goes on. It is called for each failure; `error` is for the log. */
  readonly fails: (reason: string, error: unknown, left?: 'nothing' | 'reading') => void;
  /** It works, or works again. */
  readonly works: () => void;
}

/** What is reported of the parts of one process. */
export interface Health {
  /** For who reports of the part of this name. Beside the part itself others may, such as a check of it: the part fails while one says so. */
  readonly part: (name: string, reporter?: string) => PartHealth;
  /** The parts that fail now, in the order in which they began to. */
  readonly degraded: () => readonly Degraded[];
  /** Why the part cannot even be read; `undefined` while it can. */
  readonly unreadable: (name: string) => string | undefined;
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

interface Report {
  readonly reason: string;
  readonly isReadable: boolean;
}

interface Failing {
  /** By reporter. */
  readonly reports: Map<string, Report>;
  /** Whether a reason is to be logged now. It remembers one reason. */
  readonly isFirst: ReturnType<typeof createFirstOfKind>;
}

/**
 * Keeps what is reported of parts. The log has it when a part begins to fail, when its reason changes, at growing intervals while it fails, and when
 * it works again. `now` is a clock in milliseconds that never goes back.
 */
export function createHealth(log: Log, registry?: Registry, now: () => number = () => performance.now()): Health {
  const meters = registry?.make(healthMetrics);
  const failing = new Map<string, Failing>();
  const beginToFail = (name: string): Failing => {
    const begun = { reports: new Map(), isFirst: createFirstOfKind({ ...growingSilence, max: 1, now }) };
    failing.set(name, begun);
    return begun;
  };
  return {
    part: (name, reporter = name) => {
      const part = { part: name };
      meters?.degraded.set(part, failing.has(name) ? 1 : 0);
      meters?.failures.add(part, 0);
      return {
        fails: (reason, error, left = 'nothing') => {
          meters?.failures.add(part);
          meters?.degraded.set(part, 1);
          const { reports, isFirst } = failing.get(name) ?? beginToFail(name);
          reports.set(reporter, { reason, isReadable: left === 'reading' });
          const { reason: judged } = judge(reports);
          if (isFirst(judged)) log.error({ part: name, reason: judged, err: error }, 'a part fails; it is tried again');
        },
        works: () => {
          const reports = failing.get(name)?.reports;
          if (!reports?.delete(reporter) || reports.size > 0) return;
          failing.delete(name);
          meters?.degraded.set(part, 0);
          log.info({ part: name }, 'a part works again');
        },
      };
    },
    degraded: () => [...failing].map(([name, { reports }]) => ({ name, reason: judge(reports).reason })),
    unreadable: (name) => {
      const reports = failing.get(name)?.reports;
      const { reason, isReadable } = reports ? judge(reports) : readable;
      return isReadable ? undefined : reason;
    },
  };
}

const readable: Report = { reason: '', isReadable: true };

/** The one report that stands for all of a part: the first that finds that it cannot be read, else the first. */
function judge(reports: ReadonlyMap<string, Report>): Report {
  const all = [...reports.values()];
  return all.find(({ isReadable }) => !isReadable) ?? all[0] ?? readable;
}
