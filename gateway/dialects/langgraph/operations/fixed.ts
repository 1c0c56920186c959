/** Parameters that are read and change nothing: what they ask for is always so, or never. By name, with what is the case. */
export const fixed: Readonly<Record<string, string>> = {
  durability: 'Each step is on record before its result is sent: `sync`, always',
  checkpoint_during: 'Each step is on record before its result is sent, always',
  stream_resumable: 'Every stream goes on after any of its ids',
  strict_resume: 'An answer to a question that is not open is refused, always',
  subgraphs: 'A task whose sub-graph asks has its question, and no `state` of that sub-graph',
  wait: 'The reply to a cancellation comes when the run has stopped',
  reason: 'Why a run was cancelled is not kept',
};
