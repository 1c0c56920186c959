import { counter, type Instruments } from '@agent-workflow/runtime/metrics';

/** The metrics of files. */
export const fileMetrics = {
  bytes: counter('agent_workflow_file_bytes_total', 'Bytes of files that callers sent and read', {
    direction: ['in', 'out'],
  }),
  removed: counter(
    'agent_workflow_files_removed_total',
    'Files whose bytes were to be removed, and whether they were',
    {
      outcome: ['removed', 'failed'],
    },
  ),
};

export type FileMeters = Instruments<typeof fileMetrics>;
