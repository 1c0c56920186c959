/** What a request to stop a run came to. */
export const stopMessage = (stoppedNow: boolean, status: string): string =>
  stoppedNow ? 'the run was stopped' : `the run had ended before: ${status}`;
