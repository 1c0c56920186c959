import type { Thread } from '@agent-workflow/client';
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { useAction } from '../../session/action.ts';
import { useLoaded } from '../../session/loaded.ts';
import { useSeveralAgents } from '../../session/agents.ts';
import { usePages } from '../../session/pages.ts';
import { route, toHash } from '../../session/route.ts';
import { client } from '../../session/session.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { FoldedJson } from '../../ui/folded-json.tsx';
import { RawOnFault } from '../../ui/raw-on-fault.tsx';
import { RunLink } from '../../ui/run-link.tsx';
import { Time } from '../../ui/time.tsx';
import { useTitle } from '../../ui/title.ts';
import { PastState } from './past-state.tsx';
import { StateNow } from './state-now.tsx';
import { RunsOfThread } from './runs-of-thread.tsx';
import { Versions } from './versions.tsx';

interface ThreadPaneProps {
  readonly id: string;
  readonly search: string;
  readonly onDeleted: (id: string) => void;
}

const pageSize = 100;

/** One thread: what is known of it, its versions, and its state now or at one of them. */
export function ThreadPane({ id, search, onDeleted }: ThreadPaneProps) {
  const { state, again } = useLoaded((signal) => client.threads.get(id, { signal }), []);
  const turn = useSignal(0);
  const versions = usePages(
    async (cursor, signal) => {
      const page = await client.threads.checkpoints(
        id,
        { limit: pageSize, ...(cursor !== undefined && { cursor }) },
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
  const heading = useHeadingFocus();
  const { value: thread, error } = state.value;
  useTitle(thread?.thread_name ?? id);
  const { at, from } = route.value.query;
  return (
    <article class="browse-pane" aria-label="Thread">
      <a class="browse-back" href={toHash({ view: 'threads', query: { ...(search && { search }) } })}>
        All threads
      </a>
      <div class="pane-head">
        <h1 ref={heading} tabIndex={-1}>
          {thread?.thread_name ?? id}
        </h1>
        <a class="button" href={toHash({ view: 'chat', id })}>
          Open the chat
        </a>
        <button type="button" onClick={refresh}>
          Refresh
        </button>
        {thread && <DeleteThread thread={thread} onDeleted={onDeleted} />}
      </div>
      {error !== undefined && <ErrorNote error={error} again={refresh} />}
      {thread && (
        <>
          <RawOnFault raw={thread}>
            <Facts thread={thread} />
          </RawOnFault>
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
        </>
      )}
    </article>
  );
}

/** On a phone the link that was followed is out of sight with its list: the keyboard goes on at the heading. */
function useHeadingFocus() {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    const { activeElement } = document;
    if (activeElement === document.body || activeElement?.checkVisibility() === false) heading.current?.focus();
  }, []);
  return heading;
}

function Facts({ thread }: { readonly thread: Thread }) {
  const { thread_id: id, run_id: runId, metadata } = thread;
  const hasSeveral = useSeveralAgents().length > 0;
  return (
    <>
      <dl class="facts">
        <Fact name="Id">
          <code>{id}</code>
        </Fact>
        <Fact name="Owner">{thread.user_id ?? 'anonymous'}</Fact>
        {hasSeveral && <Fact name="Agent">{thread.agent ?? 'none yet'}</Fact>}
        <Fact name="Made">
          <Time at={thread['created_at'] as string | null} />
        </Fact>
        <Fact name="Changed">
          <Time at={thread.updated_at} />
        </Fact>
        <Fact name="Newest run">{typeof runId === 'string' ? <RunLink id={runId} /> : 'none'}</Fact>
        {metadata !== null && (
          <Fact name="Metadata">
            <FoldedJson label="Metadata of the thread" value={metadata} />
          </Fact>
        )}
      </dl>
    </>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
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
