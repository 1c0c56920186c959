import type { OwnedRun, Run, RunTrace } from '@agent-workflow/client';

interface MaskedError {
  readonly message: string | null;
  readonly code?: string;
  readonly reason?: string;
}

/** An error whose text is masked has its reason in the place of it. */
const withReason = <E extends MaskedError>(error: E) => ({
  ...error,
  message: error.message ?? error.reason ?? error.code ?? 'failed',
});

/** A run whose error has words. */
export const runInWords = ({ error, ...run }: OwnedRun): Run => ({
  ...run,
  ...(error && { error: withReason(error) }),
});

/** A trace whose errors have words. */
export const traceInWords = ({ spans, ...trace }: RunTrace<string | null>): RunTrace => ({
  ...trace,
  spans: spans.map(({ error, ...span }) => ({ ...span, ...(error && { error: withReason(error) }) })),
});
