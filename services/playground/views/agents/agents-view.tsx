import { useLoaded } from '../../session/loaded.ts';
import { client } from '../../session/session.ts';
import { ErrorNote } from '../../ui/error-note.tsx';
import { useTitle } from '../../ui/title.ts';
import { RawOnFault } from '../../ui/raw-on-fault.tsx';
import type { AgentItem } from '@agent-workflow/client';
import { useId } from 'preact/hooks';
import { toHash } from '../../session/route.ts';
import { grouped } from '../../ui/format.ts';
import { Time } from '../../ui/time.tsx';

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

interface AgentCardProps {
  readonly agent: AgentItem;
  /** Where it is the only one, runs and chats need not name it. */
  readonly isOnly: boolean;
}

/** One agent: what it is, and its revisions. */
function AgentCard({ agent, isOnly }: AgentCardProps) {
  const { name, description, is_default: isDefault, tools, routing, revisions } = agent;
  const heading = useId();
  const query = isOnly ? {} : { agent: name };
  return (
    <section class="agent-card stack" aria-labelledby={heading}>
      <div class="pane-head">
        <h2 id={heading}>{name}</h2>
        {isDefault && <span class="chip">default</span>}
        <a href={toHash({ view: 'runs', query })}>Runs</a>
        <a href={toHash({ view: 'chat', query })}>New chat</a>
      </div>
      {description !== null && <p>{description}</p>}
      <p class="hint">
        {tools.length === 0 ? 'No tools' : `Tools: ${tools.join(', ')}`}
        {routing && ` · version ${grouped(routing.version)} of the routing`}
      </p>
      {revisions && revisions.length > 0 ? (
        <Revisions name={name} revisions={revisions} />
      ) : (
        <p class="hint">It has no revisions: any worker that holds it serves it.</p>
      )}
    </section>
  );
}

interface RevisionsProps {
  readonly name: string;
  readonly revisions: NonNullable<AgentItem['revisions']>;
}

/** The newest first: it is the one that is looked for. */
function Revisions({ name, revisions }: RevisionsProps) {
  // The reply to a change of the routing warns of the same revisions: new runs go to them, and no worker takes these.
  const unserved = revisions.filter(({ percent, workers }) => percent > 0 && workers === 0);
  return (
    <>
      <table class="revisions" aria-label={`Revisions of ${name}`}>
        <thead>
          <tr>
            <th scope="col">Revision</th>
            <th scope="col">State</th>
            <th scope="col">Share</th>
            <th scope="col">Workers</th>
            <th scope="col">Open runs</th>
            <th scope="col">Registered</th>
          </tr>
        </thead>
        <tbody>
          {revisions
            .toReversed()
            .map(({ revision, state, percent, workers, open_runs: openRuns, registered_at: at }) => (
              <tr key={revision}>
                <th scope="row">{revision}</th>
                <td>
                  <span class={`status revision-${state}`}>{state}</span>
                </td>
                <td>{percent} %</td>
                <td>
                  <Count value={workers} absent="not known" />
                </td>
                <td>
                  <Count value={openRuns} absent="not counted" />
                </td>
                <td>
                  <Time at={at} />
                </td>
              </tr>
            ))}
        </tbody>
      </table>
      {unserved.length > 0 && (
        <div class="note" role="status" aria-label={`Warnings about ${name}`}>
          {unserved.map(({ revision }) => (
            <p key={revision}>No worker of revision {revision} is there: its runs wait until one comes.</p>
          ))}
        </div>
      )}
      {revisions.some(({ state }) => state === 'drained') && (
        <p class="hint">A drained revision gets no new runs and has none left: its workers may be taken away.</p>
      )}
    </>
  );
}

/** A number of the service; it is absent while the service does not know it. */
const Count = ({ value, absent }: { readonly value: number | undefined; readonly absent: string }) =>
  value === undefined ? <span class="hint">{absent}</span> : <>{grouped(value)}</>;
