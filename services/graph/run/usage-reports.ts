import { noUsage, type ModelUsage, type Usage } from '@agent-workflow/protos/usage';
import { readUsage, sumUsage } from '../state/usage.ts';

/** What one attempt at a node or one tool call reports. */
export interface UsageReports {
  /** For the context of the code. What was started and not awaited reports nothing after the end or the signal. */
  readonly usage: (usage: ModelUsage) => void;
  /** Reports what was checked before. */
  readonly report: (usage: ModelUsage) => void;
  /** The sum of what was reported. */
  readonly reported: () => Usage;
  readonly close: () => void;
}

interface Reporting {
  /** Ends the attempt. */
  readonly signal: AbortSignal;
  /** Where reports go; absent: they are summed here alone. */
  readonly onUsage?: ((usage: ModelUsage) => void) | undefined;
}

export function openUsageReports({ signal, onUsage }: Reporting): UsageReports {
  let sum = noUsage;
  let isClosed = false;
  const report = (usage: ModelUsage): void => {
    onUsage?.(usage);
    sum = sumUsage(sum, [usage]);
  };
  return {
    usage: (given) => {
      const usage = readUsage(given);
      if (!isClosed && !signal.aborted) report(usage);
    },
    report,
    reported: () => sum,
    close: () => {
      isClosed = true;
    },
  };
}
