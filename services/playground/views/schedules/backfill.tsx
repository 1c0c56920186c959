import { useState } from 'preact/hooks';
import { useAction } from '../../session/action.ts';
import { client } from '../../session/session.ts';
import { counted } from '../../ui/format.ts';
import { Modal } from '../../ui/modal.tsx';
import { Failure } from '../../ui/patterns/failure.tsx';
import { toast } from '../../ui/toasts.tsx';

interface BackfillProps {
  readonly id: string;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

/** Starts a run for each time of a schedule that lies between two moments of the past. */
export function Backfill({ id, onClose, onDone }: BackfillProps) {
  const [from, setFrom] = useState('');
  const [to, setTo] = useState('');
  const start = useAction<[]>(async (signal) => {
    const bounds = { from: new Date(from).toISOString(), to: new Date(to).toISOString() };
    const { runs } = await client.schedules.backfill(id, bounds, { signal });
    toast({ text: `${counted(runs.length, 'run')} ${runs.length === 1 ? 'starts' : 'start'} within moments.` });
    onDone();
    onClose();
  });
  const onSubmit = (event: Event): void => {
    event.preventDefault();
    start.start();
  };
  return (
    <Modal title="Backfill" onClose={onClose}>
      <form class="stack" onSubmit={onSubmit}>
        <p class="hint">A run starts for each time of the schedule between these two, at most 100.</p>
        <label>
          From
          <input type="datetime-local" required value={from} onInput={(event) => setFrom(event.currentTarget.value)} />
        </label>
        <label>
          To
          <input type="datetime-local" required value={to} onInput={(event) => setTo(event.currentTarget.value)} />
        </label>
        {start.error.value !== undefined && <Failure error={start.error.value} />}
        <div class="row row-end">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" disabled={start.isBusy.value}>
            Start the runs
          </button>
        </div>
      </form>
    </Modal>
  );
}
