import type { Run, Thread } from '@agent-workflow/client';
import { useSignal } from '@preact/signals';
import { useId } from 'preact/hooks';
import { useAgents, useSeveralAgents } from '../../session/agents.ts';
import { useLoaded } from '../../session/loaded.ts';
import { usePages } from '../../session/pages.ts';
import { useRefresh } from '../../session/refresh.ts';
import { route, toHash } from '../../session/route.ts';
import { client } from '../../session/session.ts';
import { FoldedJson } from '../../ui/json-tree/folded-json.tsx';
import { LoadMore } from '../../ui/load-more.tsx';
import { DetailPane } from '../../ui/patterns/detail-pane.tsx';
import { Failure } from '../../ui/patterns/failure.tsx';
import { RelativeTime } from '../../ui/patterns/relative-time.tsx';
import { Skeleton } from '../../ui/patterns/skeleton.tsx';
import { StatusDot, toneOf } from '../../ui/patterns/status-dot.tsx';
import { RawOnFault } from '../../ui/patterns/raw-on-fault.tsx';
import { useTitle } from '../../ui/title.ts';
import { whyOf } from '../runs/run-words.ts';
import { useThrown } from '../runs/trace/thrown.ts';
import { ThreadMenu } from './thread-menu.tsx';
import { whyOfThread } from './thread-selection.ts';
import { VersionList } from './version-list.tsx';
import { VersionPane } from './version-pane.tsx';
import { WriteField } from './write-field.tsx';

interface ThreadPaneProps {
  readonly id: string;
  /** The selection of the list. */
  readonly query: Readonly<Record<string, string>>;
  readonly onDeleted: (thread: Thread) => void;
  readonly onChanged: (thread: Thread) => void;
}

const versionsAtOnce = 100;
/** How often the thread is read again, in milliseconds. Its versions are, when it has changed. */
const againMs = 4000;

/** One thread: its versions, and what changed in the state at one of them. */
export function ThreadPane({ id, query, onDeleted, onChanged }: ThreadPaneProps) {
  const { state, again } = useLoaded((signal) => client.threads.get(id, { signal }), []);
  useRefresh(again, againMs);
  const { value: thread, error } = state.value;
  useTitle(thread?.title ?? id);
  const turn = useSignal(0);
  const versions = usePages(
    async (cursor, signal) => {
      const page = await client.threads.checkpoints(
        id,
        { limit: versionsAtOnce, ...(cursor !== undefined && { cursor }) },
        { signal },
      );
      return { items: page.checkpoints, cursor: page.cursor };
    },
    [turn.value, thread?.updated_at],
  );
  const refresh = (): void => {
    turn.value++;
    again();
  };
  const { at, from, tab } = route.value.query;
  const backHref = toHash({ view: 'threads', query });
  if (!thread)
    return (
      <DetailPane crumb="Threads" backHref={backHref} id={id} title={id} label="Thread">
        {error === undefined ? <Skeleton rows={6} /> : <Failure error={error} retry={again} />}
      </DetailPane>
    );
  return (
    <DetailPane
      crumb="Threads"
      backHref={backHref}
      id={id}
      title={thread.title ?? id}
      label="Thread"
      facts={<Facts thread={thread} />}
      actions={
        <>
          <a class="button" href={toHash({ view: 'chat', id })}>
            Open in chat
          </a>
          <ThreadMenu
            thread={thread}
            onDeleted={onDeleted}
            onChanged={(changed) => {
              onChanged(changed);
              again();
            }}
            onPruned={refresh}
          />
        </>
      }
    >
      {error !== undefined && <Failure error={error} retry={again} />}
      <div class="thread-columns">
        <RawOnFault raw={versions.state.value.items}>
          <VersionList versions={versions} openId={at} />
        </RawOnFault>
        <RunsOfThread id={id} newest={thread.run_id} />
        <RawOnFault key={`${at ?? ''} ${tab ?? ''}`}>
          <VersionPane
            id={id}
            at={at}
            from={from}
            tab={tab === 'state' ? 'state' : 'changes'}
            versions={versions.state.value.items}
            areVersionsKnown={!versions.state.value.isLoading || versions.state.value.items.length > 0}
            turn={thread.updated_at}
            onRestored={refresh}
            writing={<Writing key={thread.agent} id={id} agent={thread.agent} onWritten={refresh} />}
          />
        </RawOnFault>
      </div>
    </DetailPane>
  );
}

function Facts({ thread }: { readonly thread: Thread }) {
  const { metadata, status = 'idle', agent, run_id: run } = thread;
  const hasSeveral = useSeveralAgents().length > 0;
  return (
    <>
      <span class={`thread-status tone-${toneOf(status)}`}>
        <StatusDot status={status} /> {whyOfThread(thread) ?? status}
      </span>
      {hasSeveral && <span>{agent ?? 'no agent yet'}</span>}
      <span>
        made <RelativeTime at={thread['created_at'] as string | null} isInSentence />
      </span>
      <span>
        changed <RelativeTime at={thread.updated_at} isInSentence />
      </span>
      {typeof run === 'string' && <a href={toHash({ view: 'runs', id: run })}>Newest run</a>}
      {metadata !== null && <FoldedJson label="Metadata of the thread" value={metadata} />}
    </>
  );
}

const runsAtOnce = 10;

interface RunsOfThreadProps {
  readonly id: string;
  /** The newest run: another one reads the list again. */
  readonly newest: unknown;
}

/** The runs of a thread, the newest first. */
function RunsOfThread({ id, newest }: RunsOfThreadProps) {
  const heading = useId();
  const runs = usePages(
    async (cursor, signal) => {
      const page = await client.threads.runs(
        id,
        { limit: runsAtOnce, ...(cursor !== undefined && { cursor }) },
        { signal },
      );
      return { items: page.runs, cursor: page.cursor };
    },
    [newest],
  );
  if (runs.state.value.items.length === 0) return null;
  return (
    <section class="thread-runs" aria-labelledby={heading}>
      <h2 id={heading}>Runs</h2>
      <ul class="plain">
        {runs.state.value.items.map((run) => (
          <li key={run.run_id}>
            <a class="thread-run" href={toHash({ view: 'runs', id: run.run_id })}>
              <StatusDot status={run.status} hasWord />
              <FactsOfRun run={run} />
              <RelativeTime at={run.created_at} />
            </a>
          </li>
        ))}
      </ul>
      {(runs.state.value.cursor !== undefined || runs.state.value.error !== undefined) && (
        <LoadMore pages={runs.state.value} thing="run" more={runs.more} again={runs.again} />
      )}
    </section>
  );
}

function FactsOfRun({ run }: { readonly run: Run }) {
  const several = useSeveralAgents().length > 0;
  const facts = [whyOf(run, useThrown(run)), several && run.agent, run.revision];
  return <span class="hint">{facts.filter(Boolean).join(' · ')}</span>;
}

interface WritingProps {
  readonly id: string;
  /** The agent of the thread; `null` before its first run. */
  readonly agent: string | null;
  readonly onWritten: () => void;
}

/** The form that writes a field. A thread whose first run is to come has the fields of the default agent, if there is one. */
function Writing(given: WritingProps) {
  const { list, error } = useAgents();
  if (given.agent === null) {
    if (list === undefined && error === undefined) return null;
    if (list && list.length > 1 && !list.some((agent) => agent.is_default))
      return <p class="hint">The first run gives this thread its agent, and with it the fields that can be written.</p>;
  }
  return <WriteField {...given} />;
}
