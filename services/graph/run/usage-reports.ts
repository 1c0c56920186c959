import { noUsage, type FinishReason, type ModelUsage, type Usage } from '@agent-workflow/protos/usage';
import { readUsage, sumUsage, type UsageReport } from '../state/usage.ts';

/** What one attempt at a node or one tool call reports. */
export interface UsageReports {
  /** For the context of the code. What was started and not awaited reports nothing after the end or the signal. */
  readonly usage: (usage: UsageReport) => void;
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
  /** Called with the reason of each report that has one. */
  readonly onFinish?: (reason: FinishReason) => void;
}

export function openUsageReports({ signal, onUsage, onFinish }: Reporting): UsageReports {
  let sum = noUsage;
  let isClosed = false;
  const report = (usage: ModelUsage): void => {
    onUsage?.(usage);
    sum = sumUsage(sum, [usage]);
  };
  return {
    usage: (given) => {
      const usage = readUsage(given);
      if (isClosed || signal.aborted) return;
      for (const one of usage) report(one);
      if (given.finishReason !== undefined) onFinish?.(given.finishReason);
    },
    report,
    reported: () => sum,
    close: () => {
      isClosed = true;
    },
  };
}
