import type { EndStatus } from '@agent-workflow/protos/lists';

/** What a request to stop a run came to. */
export const stopMessage = (stoppedNow: boolean, status: EndStatus): string =>
  stoppedNow ? 'the run was stopped' : `the run had ended before: ${status}`;
