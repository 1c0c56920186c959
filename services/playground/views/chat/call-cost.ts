import type { TraceSpan } from '@agent-workflow/client';

/** What a call of a tool took, by the trace of its run. */
export interface CallCost {
  /** How long its code ran, in milliseconds. */
  readonly ms?: number;
  /** The tokens of what ran in it; 0 where it reported none. */
  readonly tokens: number;
}

/** The costs of the calls among these spans. */
export const costsIn = (spans: readonly TraceSpan[]): readonly (readonly [string, CallCost])[] =>
  spans.flatMap((span) => (span.kind === 'tool' && span.call_id !== undefined ? [[span.call_id, costOf(span)]] : []));

function costOf({ usage, started_at: start, ended_at: end }: TraceSpan): CallCost {
  const tokens = (usage?.input_tokens ?? 0) + (usage?.output_tokens ?? 0);
  const ms = Date.parse(end ?? '') - Date.parse(start);
  return { tokens, ...(ms >= 0 && { ms }) };
}
