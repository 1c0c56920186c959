import type { Thread, Checkpoint } from '@agent-workflow/client';
import { useSignal } from '@preact/signals';
import { useId } from 'preact/hooks';
import { useAction } from '../../session/action.ts';
import { useLoaded } from '../../session/loaded.ts';
import { useSeveralAgents, useAgents } from '../../session/agents.ts';
import { usePages, type PagedList } from '../../session/pages.ts';
import { route, toHash } from '../../session/route.ts';
import { client } from '../../session/session.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { DetailPane } from '../../ui/patterns/detail-pane.tsx';
import { Failure } from '../../ui/patterns/failure.tsx';
import { RelativeTime } from '../../ui/patterns/relative-time.tsx';
import { FoldedJson } from '../../ui/folded-json.tsx';
import { RawOnFault } from '../../ui/raw-on-fault.tsx';
import { RunLink } from '../../ui/run-link.tsx';
import { Time } from '../../ui/time.tsx';
import { useTitle } from '../../ui/title.ts';
import { PastState } from './past-state.tsx';
import { LoadMore } from '../../ui/load-more.tsx';
import { JsonView } from '../../ui/json-view.tsx';
import { WriteField } from './write-field.tsx';
import { keepingText, nodesText, versionName } from './version-text.ts';

interface ThreadPaneProps {
  readonly id: string;
  readonly search: string;
  readonly onDeleted: (id: string) => void;
}

const versionsAtOnce = 100;

/** One thread: what is known of it, its versions, and its state now or at one of them. */
export function ThreadPane({ id, search, onDeleted }: ThreadPaneProps) {
  const { state, again } = useLoaded((signal) => client.threads.get(id, { signal }), []);
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
    [turn.value],
  );
  const refresh = (): void => {
    turn.value++;
    again();
  };
  const { value: thread, error } = state.value;
  const title = thread?.thread_name ?? id;
  useTitle(title);
  const { at, from } = route.value.query;
  return (
    <DetailPane
      label="Thread"
      crumb="Threads"
      backHref={toHash({ view: 'threads', query: { ...(search && { search }) } })}
      id={id}
      title={title}
      facts={
        thread && (
          <RawOnFault raw={thread}>
            <Facts thread={thread} />
          </RawOnFault>
        )
      }
      actions={
        <>
          <a class="button" href={toHash({ view: 'chat', id })}>
            Open the chat
          </a>
          <button type="button" onClick={refresh}>
            Refresh
          </button>
          {thread && <DeleteThread thread={thread} onDeleted={onDeleted} />}
        </>
      }
    >
      {error !== undefined && <Failure error={error} retry={refresh} />}
      {thread && (
        <div class="pane-columns">
          <div class="stack">
            <RawOnFault raw={versions.state.value.items}>
              <Versions versions={versions} openId={at} />
            </RawOnFault>
            <RunsOfThread id={id} turn={turn.value} />
          </div>
          <RawOnFault key={at}>
            {at === undefined ? (
              <StateNow id={id} agent={thread.agent} turn={turn.value} onWritten={refresh} />
            ) : (
              <PastState id={id} at={at} from={from} versions={versions.state.value.items} />
            )}
          </RawOnFault>
        </div>
      )}
    </DetailPane>
  );
}

function Facts({ thread }: { readonly thread: Thread }) {
  const { thread_id: id, run_id: runId, metadata } = thread;
  const hasSeveral = useSeveralAgents().length > 0;
  return (
    <>
      {hasSeveral && thread.agent !== null && <span>{thread.agent}</span>}
      <span>
        made <RelativeTime at={thread['created_at'] as string | null} isInSentence />
      </span>
      <span>
        changed <RelativeTime at={thread.updated_at} isInSentence />
      </span>
      {typeof runId === 'string' && (
        <span>
          newest <RunLink id={runId} />
        </span>
      )}
      {thread.user_id !== null && <span>of {thread.user_id}</span>}
      {thread.thread_name !== null && <code>{id}</code>}
      {metadata !== null && <FoldedJson label="Metadata of the thread" value={metadata} />}
    </>
  );
}

interface DeleteThreadProps {
  readonly thread: Thread;
  readonly onDeleted: (id: string) => void;
}

function DeleteThread({ thread: { thread_id: id, thread_name: name }, onDeleted }: DeleteThreadProps) {
  const isAsked = useSignal(false);
  const deletion = useAction<[]>(async (signal) => {
    await client.threads.delete(id, { signal });
    onDeleted(id);
  });
  const close = (): void => {
    isAsked.value = false;
  };
  return (
    <>
      <button
        type="button"
        class="danger"
        onClick={() => {
          isAsked.value = true;
        }}
      >
        Delete …
      </button>
      {isAsked.value && (
        <Confirm title="Delete this thread?" verb="Delete the thread" action={deletion} onClose={close}>
          <p>
            <strong>{name ?? id}</strong> goes for good, with its messages, its state, its versions, its runs and the
            memories that were stored with it. A run under way is stopped.
          </p>
        </Confirm>
      )}
    </>
  );
}

const runsAtOnce = 20;

interface RunsOfThreadProps {
  readonly id: string;
  /** Another number reads the list again. */
  readonly turn: number;
}

/** The runs of a thread, the newest first. */
function RunsOfThread({ id, turn }: RunsOfThreadProps) {
  const heading = useId();
  const several = useSeveralAgents().length > 0;
  const runs = usePages(
    async (cursor, signal) => {
      const page = await client.threads.runs(
        id,
        { limit: runsAtOnce, ...(cursor !== undefined && { cursor }) },
        { signal },
      );
      return { items: page.runs, cursor: page.cursor };
    },
    [turn],
  );
  return (
    <section aria-labelledby={heading}>
      <h2 id={heading}>Runs</h2>
      <ul class="plain">
        {runs.state.value.items.map((run) => (
          <li key={run.run_id} class="line">
            <a href={toHash({ view: 'runs', id: run.run_id })}>
              <Time at={run['created_at'] as string} />
            </a>
            <span class={`status status-${run.status}`}>{run.status}</span>
            {(several || run.revision !== undefined) && (
              <span class="hint run-build">{[several && run.agent, run.revision].filter(Boolean).join(' ')}</span>
            )}
          </li>
        ))}
      </ul>
      <LoadMore pages={runs.state.value} thing="run" more={runs.more} again={runs.again} />
    </section>
  );
}

interface StateNowProps {
  readonly id: string;
  /** The agent of the thread; `null` before its first run. */
  readonly agent: string | null;
  /** Another number reads the state again. */
  readonly turn: number;
  readonly onWritten: () => void;
}

/** The state of a thread as it is, and the form that writes a field of it. */
function StateNow({ id, agent, turn, onWritten }: StateNowProps) {
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

interface VersionsProps {
  readonly versions: PagedList<Checkpoint>;
  readonly openId: string | undefined;
}

/** The checkpoints of a thread, the newest first; each leads to the state as it was. */
function Versions({ versions, openId }: VersionsProps) {
  const heading = useId();
  const { items, cursor } = versions.state.value;
  return (
    <section aria-labelledby={heading}>
      <h2 id={heading}>Versions</h2>
      <div class="scrolled" tabIndex={0} role="region" aria-label="List of versions">
        <table>
          <thead>
            <tr>
              <th scope="col">Made by</th>
              <th scope="col">Nodes → next</th>
              <th scope="col">At</th>
            </tr>
          </thead>
          <tbody>
            <tr class={openId === undefined ? 'open' : ''}>
              <th scope="row" colSpan={3}>
                <a href={hashOf(undefined)} aria-current={openId === undefined ? 'true' : undefined}>
                  Now
                </a>
              </th>
            </tr>
            {items.map((version) => (
              <VersionRow key={version.checkpoint_id} version={version} isOpen={version.checkpoint_id === openId} />
            ))}
          </tbody>
        </table>
      </div>
      <LoadMore pages={versions.state.value} thing="version" more={versions.more} again={versions.again} />
      {cursor === undefined && <p class="hint small">{keepingText}</p>}
    </section>
  );
}

function VersionRow({ version, isOpen }: { readonly version: Checkpoint; readonly isOpen: boolean }) {
  return (
    <tr class={isOpen ? 'open' : ''}>
      <th scope="row">
        <a
          href={hashOf(version.checkpoint_id)}
          title={`Version ${version.checkpoint_id}`}
          aria-current={isOpen ? 'true' : undefined}
        >
          {versionName(version)}
        </a>
      </th>
      <td>{nodesText(version)}</td>
      <td>
        <Time at={version.created_at} />
      </td>
    </tr>
  );
}

/** The address of the open thread at a version. */
function hashOf(at: string | undefined): string {
  const { view, id, query } = route.value;
  const { at: _, from: __, ...rest } = query;
  return toHash({ view, ...(id !== undefined && { id }), query: { ...rest, ...(at !== undefined && { at }) } });
}
