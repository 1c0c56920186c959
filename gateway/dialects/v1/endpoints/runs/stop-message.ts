import type { EndStatus } from '@agent-workflow/protos/lists';

/** The `message` of a reply to a stop request. */
export const stopMessage = (stoppedNow: boolean, status: EndStatus): string =>
  stoppedNow ? 'the run was stopped' : `the run had ended before: ${status}`;
