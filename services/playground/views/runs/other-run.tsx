import type { Run } from '@agent-workflow/client';
import { useState } from 'preact/hooks';
import { useLoaded } from '../../session/loaded.ts';
import { client } from '../../session/session.ts';
import { duration } from '../../ui/format.ts';
import { clockTime } from '../../ui/time-text.ts';
import { Modal } from '../../ui/modal.tsx';
import { Failure } from '../../ui/patterns/failure.tsx';
import { RelativeTime } from '../../ui/patterns/relative-time.tsx';
import { Skeleton } from '../../ui/patterns/skeleton.tsx';
import { StatusDot } from '../../ui/patterns/status-dot.tsx';
import { factsOf } from './listed-runs.ts';

interface OtherRunProps {
  readonly run: Run;
  readonly onChoose: (id: string) => void;
  readonly onClose: () => void;
}

const shown = 12;

/** Lets the reader choose a run to compare with: of the same thread first, then the newest of the same agent, or any by its id. */
export function OtherRun({ run, onChoose, onClose }: OtherRunProps) {
  const [id, setId] = useState('');
  const { state, again } = useLoaded(
    async (signal) => {
      const [ofThread, ofAgent] = await Promise.all([
        client.threads.runs(run.thread_id, { limit: shown }, { signal }),
        client.runs.list({ limit: shown, ...(run.agent !== undefined && { agent: run.agent }) }, { signal }),
      ]);
      const known = new Map([...ofThread.runs, ...ofAgent.runs].map((each) => [each.run_id, each]));
      known.delete(run.run_id);
      return [...known.values()];
    },
    [run.run_id],
  );
  const { value, error } = state.value;
  const onSubmit = (event: Event): void => {
    event.preventDefault();
    if (id.trim() !== '') onChoose(id.trim());
  };
  return (
    <Modal title="Compare with another run" class="wide-dialog" onClose={onClose}>
      <div class="stack other-run">
        {error !== undefined && <Failure error={error} retry={again} />}
        {!value && error === undefined && <Skeleton rows={4} />}
        {value?.length === 0 && <p class="hint">There is no other run of this thread or agent.</p>}
        <ul>
          {value?.map((each) => (
            <li key={each.run_id}>
              <button type="button" class="button-quiet" onClick={() => onChoose(each.run_id)}>
                <StatusDot status={each.status} />
                <span class="other-title" dir="auto">
                  {titleOf(each)}
                </span>
                <span class="other-facts">
                  {clockTime(factsOf(each).createdAt)}
                  {', '}
                  {duration(factsOf(each).updatedAt - factsOf(each).createdAt)}
                  {', '}
                  {each.thread_id === run.thread_id ? 'same thread' : (each.agent ?? '')}
                </span>
                <RelativeTime at={String(each['created_at'])} />
              </button>
            </li>
          ))}
        </ul>
        <form class="row other-id" onSubmit={onSubmit}>
          <label class="grow">
            Id of a run
            <input value={id} onInput={(event) => setId(event.currentTarget.value)} />
          </label>
          <button type="submit" disabled={id.trim() === ''}>
            Compare
          </button>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </form>
      </div>
    </Modal>
  );
}

/** What a run is called: the title of its thread, else the beginning of its id. */
export function titleOf(run: Run): string {
  const title = run['thread_title'];
  return typeof title === 'string' && title !== '' ? title : `Run ${run.run_id.slice(0, 8)}`;
}
