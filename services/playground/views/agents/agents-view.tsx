import { useLoaded } from '../../session/loaded.ts';
import { client } from '../../session/session.ts';
import { ErrorNote } from '../../ui/error-note.tsx';
import { useTitle } from '../../ui/title.ts';
import { RawOnFault } from '../../ui/raw-on-fault.tsx';
import { AgentCard } from './agent-card.tsx';

/** The agents of the service, with the revisions that serve their runs. */
export function AgentsView() {
  useTitle('Agents');
  const { state, again } = useLoaded((signal) => client.agents.list({ signal }), []);
  const { value, error, isLoading } = state.value;
  return (
    <div class="agents stack">
      <div class="pane-head">
        <h1>Agents</h1>
        <button type="button" aria-disabled={isLoading} onClick={again}>
          Refresh
        </button>
      </div>
      {error !== undefined && <ErrorNote error={error} again={again} />}
      {value === undefined && isLoading && <p class="hint">Reading the agents …</p>}
      {value?.agents.length === 0 && <p class="hint">The service has no agent.</p>}
      {value?.agents.map((agent) => (
        <RawOnFault key={agent.name} raw={agent}>
          <AgentCard agent={agent} isOnly={value.agents.length === 1} />
        </RawOnFault>
      ))}
    </div>
  );
}
