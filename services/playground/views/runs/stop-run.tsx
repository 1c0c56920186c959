import type { Run } from '@agent-workflow/client';
import { useAction } from '../../session/action.ts';
import { client } from '../../session/session.ts';
import { Confirm } from '../../ui/confirm.tsx';

interface StopRunProps {
  readonly run: Pick<Run, 'run_id' | 'thread_id'>;
  readonly onClose: () => void;
  /** Gets the run as it stands after that. */
  readonly onStopped: (run: Run) => void;
}

/** Asks before a run is stopped. */
export function StopRun({ run, onClose, onStopped }: StopRunProps) {
  const action = useAction(async (signal) => {
    await client.runs.cancel(run.run_id, { signal });
    onStopped(await client.runs.get(run.run_id, { signal }));
  });
  return (
    <Confirm title="Stop this run?" verb="Stop the run" action={action} onClose={onClose}>
      <p>
        Run <code>{run.run_id}</code> of thread <code>{run.thread_id}</code> is stopped at once. The steps that it has
        committed stay.
      </p>
    </Confirm>
  );
}
