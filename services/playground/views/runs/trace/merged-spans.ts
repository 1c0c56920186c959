import type { TraceSpan } from '@agent-workflow/client';

/** What is known with a page that was read behind step `after`: what it says of later steps takes the place of what was known of them. */
export function withPage(
  known: readonly TraceSpan[],
  after: number | undefined,
  page: readonly TraceSpan[],
): readonly TraceSpan[] {
  return after === undefined ? page : [...known.filter(({ step }) => step <= after), ...page];
}
