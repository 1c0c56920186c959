import '../../styles/agents.css';
import type { AgentItem } from '@agent-workflow/client';
import { useLoaded } from '../../session/loaded.ts';
import { useRefresh } from '../../session/refresh.ts';
import { route, toHash } from '../../session/route.ts';
import { client } from '../../session/session.ts';
import { counted } from '../../ui/format.ts';
import { Blank } from '../../ui/patterns/blank.tsx';
import { Failure } from '../../ui/patterns/failure.tsx';
import { ListPane } from '../../ui/patterns/list-pane.tsx';
import { Panes } from '../../ui/patterns/panes.tsx';
import { Row } from '../../ui/patterns/row.tsx';
import { Skeleton } from '../../ui/patterns/skeleton.tsx';
import { RawOnFault } from '../../ui/patterns/raw-on-fault.tsx';
import { useTitle } from '../../ui/title.ts';
import { AgentPane } from './agent-pane.tsx';

/** How often the list is read again, in milliseconds: workers come and go. */
const refreshMs = 15_000;

/** The agents of the service, beside the one that is open. */
export function AgentsView() {
  const { id } = route.value;
  const { state, again } = useLoaded(async (signal) => (await client.agents.list({ signal })).agents, []);
  useRefresh(again, refreshMs);
  const { value: agents, error, isLoading } = state.value;
  return (
    <Panes
      hasDetail={id !== undefined}
      list={
        <ListPane title="Agents" count={agents?.length}>
          {agents === undefined && isLoading && <Skeleton rows={3} />}
          {error !== undefined && <Failure error={error} retry={again} />}
          {agents?.length === 0 && (
            <Blank
              title="The service has no agent"
              text="An agent is a graph under a name: the service file names one, or workers register it."
              docs="/docs/agents"
            />
          )}
          <ul class="plain">
            {agents?.map((agent) => (
              <li key={agent.name}>
                <RawOnFault raw={agent}>
                  <AgentRow agent={agent} isOpen={agent.name === id} />
                </RawOnFault>
              </li>
            ))}
          </ul>
        </ListPane>
      }
      detail={
        <RawOnFault key={id}>
          {id === undefined ? (
            <NoAgent />
          ) : (
            <AgentPane
              key={id}
              name={id}
              item={agents?.find(({ name }) => name === id)}
              isOnly={agents?.length === 1}
            />
          )}
        </RawOnFault>
      }
    />
  );
}

function NoAgent() {
  useTitle('Agents');
  return (
    <Blank title="No agent is open" text="Choose one to see how it is built, what serves it, and whether it is well." />
  );
}

function AgentRow({ agent, isOpen }: { readonly agent: AgentItem; readonly isOpen: boolean }) {
  const { name, description, is_default: isDefault, tools, revisions = [] } = agent;
  const lacksWorkers = revisions.some(({ percent, workers }) => percent > 0 && workers === 0);
  return (
    <Row
      href={toHash({ view: 'agents', id: name })}
      status={lacksWorkers ? 'waiting' : 'active'}
      title={name}
      {...(lacksWorkers && { why: 'no worker is there for new runs' })}
      facts={[description ?? (tools.length > 0 && counted(tools.length, 'tool'))].filter(
        (fact) => typeof fact === 'string',
      )}
      time={isDefault ? 'default' : ''}
      isSelected={isOpen}
    />
  );
}
