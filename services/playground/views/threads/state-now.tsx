import { useId } from 'preact/hooks';
import { useAgents } from '../../session/agents.ts';
import { useLoaded } from '../../session/loaded.ts';
import { client } from '../../session/session.ts';
import { ErrorNote } from '../../ui/error-note.tsx';
import { JsonView } from '../../ui/json-view.tsx';
import { WriteField } from './write-field.tsx';

interface StateNowProps {
  readonly id: string;
  /** The agent of the thread; `null` before its first run. */
  readonly agent: string | null;
  /** Another number reads the state again. */
  readonly turn: number;
  readonly onWritten: () => void;
}

/** The state of a thread as it is, and the form that writes a field of it. */
export function StateNow({ id, agent, turn, onWritten }: StateNowProps) {
  const heading = useId();
  const { state, again } = useLoaded((signal) => client.threads.state(id, { signal }), [turn]);
  const { value, error } = state.value;
  return (
    <section class="stack" aria-labelledby={heading}>
      <h2 id={heading}>State now</h2>
      {error !== undefined && <ErrorNote error={error} again={again} />}
      {value && (
        <>
          <Writing key={agent} id={id} agent={agent} onWritten={onWritten} />
          <JsonView label="Values of the state" value={value.state} />
        </>
      )}
    </section>
  );
}

/** The form that writes a field. A thread whose first run is to come has the fields of the default agent, if there is one. */
function Writing(given: Omit<StateNowProps, 'turn'>) {
  const { list, error } = useAgents();
  if (given.agent === null) {
    if (list === undefined && error === undefined) return null;
    if (list && list.length > 1 && !list.some((agent) => agent.is_default))
      return <p class="hint">The first run gives this thread its agent, and with it the fields that can be written.</p>;
  }
  return <WriteField {...given} />;
}
