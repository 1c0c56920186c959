import { useId } from 'preact/hooks';
import { useLoaded } from '../../session/loaded.ts';
import { client } from '../../session/session.ts';
import { ErrorNote } from '../../ui/error-note.tsx';
import { JsonView } from '../../ui/json-view.tsx';
import { WriteField } from './write-field.tsx';

interface StateNowProps {
  readonly id: string;
  /** Another number reads the state again. */
  readonly turn: number;
  readonly onWritten: () => void;
}

/** The state of a thread as it is, and the form that writes a field of it. */
export function StateNow({ id, turn, onWritten }: StateNowProps) {
  const heading = useId();
  const { state, again } = useLoaded((signal) => client.threads.state(id, { signal }), [turn]);
  const { value, error } = state.value;
  return (
    <section class="stack" aria-labelledby={heading}>
      <h2 id={heading}>State now</h2>
      {error !== undefined && <ErrorNote error={error} again={again} />}
      {value && (
        <>
          <WriteField id={id} onWritten={onWritten} />
          <JsonView label="Values of the state" value={value.state} />
        </>
      )}
    </section>
  );
}
