import type { AgentItem, AgentTool, JsonObject } from '@agent-workflow/client';
import { useMemo } from 'preact/hooks';
import { useLoaded } from '../../session/loaded.ts';
import { toHash } from '../../session/route.ts';
import { client } from '../../session/session.ts';
import { counted, grouped } from '../../ui/format.ts';
import { DetailPane } from '../../ui/patterns/detail-pane.tsx';
import { Failure } from '../../ui/patterns/failure.tsx';
import { Skeleton } from '../../ui/patterns/skeleton.tsx';
import { RawOnFault } from '../../ui/patterns/raw-on-fault.tsx';
import { useTitle } from '../../ui/title.ts';
import { readGraph } from '../runs/graph/shape.ts';
import { GraphDrawing } from '../runs/graph-panel.tsx';
import { failedShare, fieldsOf } from './agent-facts.ts';
import { Connect } from './connect.tsx';
import { Revisions } from './revisions.tsx';

interface AgentPaneProps {
  readonly name: string;
  /** As the list has it; absent until that is read. */
  readonly item: AgentItem | undefined;
  /** Where it is the only one, runs and chats need not name it. */
  readonly isOnly: boolean;
}

/** So many of the newest runs say how well an agent is. */
const countedRuns = 100;

/** One agent: how it is built, what serves it, and how many of its runs fail. */
export function AgentPane({ name, item, isOnly }: AgentPaneProps) {
  useTitle(name);
  const { state, again } = useLoaded((signal) => client.agents.get(name, { signal }), []);
  const { value: agent, error, isLoading } = state.value;
  const query = isOnly ? {} : { agent: name };
  const { description, routing, revisions } = item ?? agent ?? {};
  return (
    <DetailPane
      label="Agent"
      crumb="Agents"
      backHref={toHash({ view: 'agents' })}
      title={name}
      facts={
        <>
          {item?.is_default === true && !isOnly && <span>default</span>}
          {agent && <span>{counted(agent.tools.length, 'tool')}</span>}
          {routing && <span>version {grouped(routing.version)} of the routing</span>}
          <FailedShare query={query} />
        </>
      }
      actions={
        <>
          <a class="button" href={toHash({ view: 'runs', query })}>
            Runs
          </a>
          <a class="button button-first" href={toHash({ view: 'chat', query })}>
            New chat
          </a>
        </>
      }
    >
      {typeof description === 'string' && <p class="said-text">{description}</p>}
      {revisions && revisions.length > 0 && (
        <section aria-label="Revisions">
          <h2>Revisions</h2>
          <Revisions name={name} revisions={revisions} />
        </section>
      )}
      {error !== undefined && <Failure error={error} retry={again} />}
      {agent === undefined && isLoading && <Skeleton rows={6} />}
      {agent && (
        <RawOnFault raw={agent}>
          <Drawing graph={agent.graph} />
          <Tools tools={agent.tools} />
          <State schema={agent.state_schema} />
        </RawOnFault>
      )}
      <Connect agent={name} isOnly={isOnly} />
    </DetailPane>
  );
}

/** How many of its newest runs failed; nothing while that is not known. */
function FailedShare({ query }: { readonly query: { readonly agent?: string } }) {
  const { state } = useLoaded(
    async (signal) => (await client.runs.list({ ...query, limit: countedRuns }, { signal })).runs,
    [query.agent],
  );
  const share = state.value.value && failedShare(state.value.value);
  if (share === undefined) return null;
  if (share.ended === 0) return <span>no run has ended yet</span>;
  return share.failed === 0 ? (
    <span>none of the newest {counted(share.ended, 'run')} failed</span>
  ) : (
    <a class="tone-failed" href={toHash({ view: 'runs', query: { ...query, status: 'failed' } })}>
      {share.failed} of the newest {counted(share.ended, 'run')} failed
    </a>
  );
}

function Drawing({ graph }: { readonly graph: JsonObject }) {
  const shape = useMemo(() => readGraph(graph), [graph]);
  if (shape.nodes.length === 0) return null;
  return (
    <section aria-label="Graph">
      <h2>Graph</h2>
      <GraphDrawing graph={shape} />
    </section>
  );
}

function Tools({ tools }: { readonly tools: readonly AgentTool[] }) {
  if (tools.length === 0) return null;
  return (
    <section aria-label="Tools">
      <h2>Tools</h2>
      <dl class="named">
        {tools.map(({ name, description, remote }) => (
          <div key={name}>
            <dt>
              <code>{name}</code>
            </dt>
            <dd dir="auto">
              {description}
              {remote && <span class="hint"> The caller runs it.</span>}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

function State({ schema }: { readonly schema: JsonObject }) {
  const fields = useMemo(() => fieldsOf(schema), [schema]);
  if (fields.length === 0) return null;
  return (
    <section aria-label="State">
      <h2>State</h2>
      <dl class="named">
        {fields.map(({ name, type, description }) => (
          <div key={name}>
            <dt>
              <code>{name}</code>
            </dt>
            <dd dir="auto">
              {type} {description}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
