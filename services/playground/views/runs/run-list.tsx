import type { Run, RunsQuery, RunStatus } from '@agent-workflow/client';
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { useSeveralAgents } from '../../session/agents.ts';
import { serviceNow } from '../../session/clock.ts';
import { usePages, type ListPage } from '../../session/pages.ts';
import { go, route, toHash } from '../../session/route.ts';
import { client } from '../../session/session.ts';
import { LoadMore } from '../../ui/load-more.tsx';
import { useTitle } from '../../ui/title.ts';
import { RawOnFault } from '../../ui/raw-on-fault.tsx';
import { withFirstPage, factsOf } from './listed-runs.ts';
import { isUnderWay, runStatuses, underWay, Status } from './status.tsx';
import { StopRun } from './stop-run.tsx';
import { counted, dayTime, duration, grouped } from '../../ui/format.ts';

const pageSize = 50;
/** How often the newest runs are read again while one of those listed is under way, in milliseconds. */
const refreshMs = 4000;

/** The runs of all threads, newest first, by their status and agent. */
export function RunList() {
  useTitle('Runs');
  const { status: chosen = '', agent } = route.value.query;
  const statuses = statusesOf(chosen);
  return (
    <div class="run-list">
      {statuses ? <ListedRuns {...{ chosen, statuses, agent }} /> : <UnknownStatus chosen={chosen} />}
    </div>
  );
}

/** An address that somebody typed may name a status that no run has: a list of other runs would be a wrong answer. */
function UnknownStatus({ chosen }: { readonly chosen: string }) {
  return (
    <>
      <div class="pane-head">
        <h1>Runs</h1>
        <StatusFilter chosen={chosen} />
        <AgentFilter />
      </div>
      <p class="note note-error" role="alert">
        There is no status “{chosen}”, so no run is listed. Choose one of those that there are.
      </p>
    </>
  );
}

interface ListedRunsProps {
  /** The statuses as the address names them; empty for all. */
  readonly chosen: string;
  /** The statuses that are listed; none for all. */
  readonly statuses: readonly RunStatus[];
  /** The agent whose runs are listed; `undefined` for all. */
  readonly agent: string | undefined;
}

function ListedRuns({ chosen, statuses, agent }: ListedRunsProps) {
  const showsAgent = useSeveralAgents().length > 0;
  const selection = { ...(statuses.length > 0 && { status: statuses }), ...(agent !== undefined && { agent }) };
  const stopped = useSignal<Run | undefined>(undefined);
  const notice = useSignal('');
  const runs = usePages((cursor, signal) => loadPage(selection, cursor, signal), [chosen, agent]);
  const { items, cursor, isLoading } = runs.state.value;
  const isMoving = items.some(({ status }) => isUnderWay(status));
  const refresh = async (signal: AbortSignal): Promise<void> => {
    const page = await client.runs.list({ ...selection, limit: pageSize }, { signal });
    if (signal.aborted || runs.state.peek().isLoading) return;
    const merged = withFirstPage(runs.state.peek().items, { runs: page.runs, isWhole: page.cursor === undefined });
    if (merged === undefined) runs.again();
    else runs.edit(() => merged);
  };
  useEffect(() => {
    if (!isMoving) return undefined;
    const controller = new AbortController();
    const timer = setInterval(() => {
      if (document.hidden) return;
      // The next reading comes soon: one that fails is not worth a word.
      refresh(controller.signal).catch(() => undefined);
    }, refreshMs);
    return () => {
      clearInterval(timer);
      controller.abort();
    };
  }, [isMoving, chosen, agent]);

  const onStopped = (run: Run): void => {
    stopped.value = undefined;
    notice.value = `The run ${run.run_id} is ${run.status}.`;
    runs.edit((listed) => listed.map((each) => (each.run_id === run.run_id ? { ...each, ...run } : each)));
  };
  const now = serviceNow();
  return (
    <>
      <div class="pane-head">
        <h1>Runs</h1>
        <StatusFilter chosen={chosen} />
        <AgentFilter />
        <button type="button" disabled={isLoading} onClick={runs.again}>
          Refresh
        </button>
      </div>
      <p class="hint said" role="status">
        {notice.value}
      </p>
      {items.length > 0 && (
        <table class="runs" aria-label="Runs">
          <thead>
            <tr>
              <th scope="col">Status</th>
              <th scope="col">Run</th>
              <th scope="col">Thread</th>
              {showsAgent && <th scope="col">Agent</th>}
              <th scope="col">Accepted</th>
              <th scope="col">Took</th>
              <th scope="col">Tokens</th>
              <th scope="col">
                <span class="unseen">Action</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {items.map((run) => (
              <RawOnFault key={run.run_id} raw={run}>
                <RunRow
                  run={run}
                  now={now}
                  showsAgent={showsAgent}
                  onStop={() => {
                    stopped.value = run;
                  }}
                />
              </RawOnFault>
            ))}
          </tbody>
        </table>
      )}
      {items.length === 0 && !isLoading && <p class="hint">{emptySentence(chosen, agent, cursor !== undefined)}</p>}
      <LoadMore pages={runs.state.value} thing="run" more={runs.more} again={runs.again} />
      {stopped.value && (
        <StopRun
          run={stopped.value}
          onClose={() => {
            stopped.value = undefined;
          }}
          onStopped={onStopped}
        />
      )}
    </>
  );
}

/** The box that chooses which runs are listed. A status that there is not stands in it, but cannot be chosen. */
function StatusFilter({ chosen }: { readonly chosen: string }) {
  return (
    <label class="inline">
      Status
      <select value={chosen} onChange={({ currentTarget: { value } }) => select('status', value)}>
        {statusesOf(chosen) === undefined && (
          <option value={chosen} disabled>
            {chosen} (unknown)
          </option>
        )}
        <option value="">all</option>
        <option value="under-way">under way</option>
        {runStatuses.map((status) => (
          <option key={status} value={status}>
            {status}
          </option>
        ))}
      </select>
    </label>
  );
}

/** The box that chooses an agent, where there are several. One whose runs are still there may be gone. */
function AgentFilter() {
  const several = useSeveralAgents().map(({ name }) => name);
  const { agent: chosen = '' } = route.value.query;
  if (several.length === 0 && chosen === '') return null;
  const names = chosen === '' || several.includes(chosen) ? several : [...several, chosen];
  return (
    <label class="inline">
      Agent
      <select value={chosen} onChange={({ currentTarget: { value } }) => select('agent', value)}>
        <option value="">all</option>
        {names.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Lists runs by one value more, or by one less. */
function select(name: 'status' | 'agent', value: string): void {
  const { [name]: _, ...others } = route.peek().query;
  go({ view: 'runs', query: { ...others, ...(value !== '' && { [name]: value }) } }, { replace: true });
}

/** A page that holds no run is gone on with, as few of many may match; but not for ever without a word. */
const pagesAtOnce = 5;

async function loadPage(selection: RunsQuery, cursor: string | undefined, signal: AbortSignal): Promise<ListPage<Run>> {
  let next = cursor;
  for (let count = 0; ; count++) {
    const query = { ...selection, limit: pageSize, ...(next !== undefined && { cursor: next }) };
    const page = await client.runs.list(query, { signal });
    next = page.cursor;
    if (page.runs.length > 0 || next === undefined || count === pagesAtOnce) return { items: page.runs, cursor: next };
  }
}

/** The statuses that the address names: none for all of them, `undefined` where it names one that there is not. */
function statusesOf(chosen: string): readonly RunStatus[] | undefined {
  if (chosen === '') return [];
  if (chosen === 'under-way') return underWay;
  const known = runStatuses.find((status) => status === chosen);
  return known && [known];
}

function emptySentence(chosen: string, agent: string | undefined, hasMore: boolean): string {
  const whose = agent === undefined ? 'no run' : `no run of the agent ${agent}`;
  const what = chosen === '' ? whose : `${whose} that is ${chosen.replace('-', ' ')}`;
  return hasMore ? `There is ${what} among the newest ones. Load more to look further back.` : `There is ${what}.`;
}

interface RunRowProps {
  readonly run: Run;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Whether runs are of several agents. */
  readonly showsAgent: boolean;
  readonly onStop: () => void;
}

/** A run in the list of runs. */
function RunRow({ run, now, showsAgent, onStop }: RunRowProps) {
  const { createdAt, updatedAt } = factsOf(run);
  const isOpen = isUnderWay(run.status);
  return (
    <tr>
      <td>
        <Status status={run.status} />
        <Reason run={run} now={now} />
      </td>
      <td>
        <a class="id" href={toHash({ view: 'runs', id: run.run_id })}>
          {run.run_id}
        </a>
      </td>
      <td>
        <a class="id" href={toHash({ view: 'threads', id: run.thread_id })}>
          {run.thread_id}
        </a>
      </td>
      {showsAgent && <td class="runs-agent">{run.agent}</td>}
      <td class="nowrap runs-accepted">{dayTime(createdAt, now)}</td>
      <td class="nowrap runs-wide">{duration((isOpen ? now : updatedAt) - createdAt)}</td>
      <td class="nowrap runs-wide" title={tokensTitle(run)}>
        {run.usage ? grouped(run.usage.input_tokens + run.usage.output_tokens) : ''}
      </td>
      <td>
        {isOpen && (
          <button type="button" class="small" aria-label={`Stop run ${run.run_id}`} onClick={onStop}>
            Stop
          </button>
        )}
      </td>
    </tr>
  );
}

/** Why a run failed, or when it continues. */
function Reason({ run, now }: { readonly run: Run; readonly now: number }) {
  const { error } = factsOf(run);
  if (error) return <p class="reason">{error.message}</p>;
  if (run.wake_at !== undefined) return <p class="reason">until {dayTime(Date.parse(run.wake_at), now)}</p>;
  return null;
}

function tokensTitle({ usage }: Run): string {
  return usage ? `${counted(usage.input_tokens, 'token')} in, ${grouped(usage.output_tokens)} out` : '';
}
