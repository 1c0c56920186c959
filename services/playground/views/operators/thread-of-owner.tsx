import type { Run, Thread } from '@agent-workflow/client';
import { useSignal } from '@preact/signals';
import { useLoaded } from '../../session/loaded.ts';
import { readsContents } from '../../session/me.ts';
import { usePages } from '../../session/pages.ts';
import { useRefresh } from '../../session/refresh.ts';
import { toHash } from '../../session/route.ts';
import { client } from '../../session/session.ts';
import { LoadMore } from '../../ui/load-more.tsx';
import { DetailPane } from '../../ui/patterns/detail-pane.tsx';
import { Failure } from '../../ui/patterns/failure.tsx';
import { RelativeTime } from '../../ui/patterns/relative-time.tsx';
import { StatusDot } from '../../ui/patterns/status-dot.tsx';
import { useTitle } from '../../ui/title.ts';
import { whyOfThread } from '../threads/thread-selection.ts';
import { runInWords } from './masked-errors.ts';
import { MessagesOfOwner } from './messages-of-owner.tsx';
import { ownerInWords, ownerOf } from './of-owner.ts';
import { OwnedRun } from './owned-rows.tsx';
import { ReasonDialog } from './reason-dialog.tsx';

/** How often the thread is read again, in milliseconds. Its runs are, when it has changed. */
const refreshMs = 4000;
const runsAtOnce = 50;

interface ThreadOfOwnerProps {
  /** Empty: the anonymous owner. */
  readonly userId: string;
  readonly threadId: string;
}

/** A thread of somebody: how it stands, its runs, and for a reason its messages. */
export function ThreadOfOwner({ userId, threadId }: ThreadOfOwnerProps) {
  const { state, again } = useLoaded(
    (signal) => client.admin.getThread(threadId, ownerOf(userId), { signal }),
    [userId, threadId],
  );
  useRefresh(again, refreshMs);
  const { value: thread, error } = state.value;
  const runs = usePages<Run>(
    async (cursor, signal) => {
      const query = { ...ownerOf(userId), limit: runsAtOnce, ...(cursor !== undefined && { cursor }) };
      const page = await client.admin.listRunsOfThread(threadId, query, { signal });
      return { items: page.runs.map(runInWords), cursor: page.cursor };
    },
    [thread?.updated_at],
  );
  const isAsked = useSignal(false);
  const reason = useSignal<string | undefined>(undefined);
  const title = `Thread of ${ownerInWords(userId)}`;
  useTitle(title);
  const close = (): void => {
    isAsked.value = false;
  };
  return (
    <DetailPane
      crumb="Operators"
      backHref={toHash({ view: 'operators', query: { list: 'threads' } })}
      id={threadId}
      title={title}
      label="Thread"
      facts={thread && <Facts thread={thread} isMasked={reason.value === undefined} />}
      actions={
        readsContents() &&
        reason.value === undefined && (
          <button type="button" onClick={() => (isAsked.value = true)}>
            Read the messages
          </button>
        )
      }
    >
      {error !== undefined && <Failure error={error} retry={again} />}
      {reason.value !== undefined && <MessagesOfOwner {...{ userId, threadId }} reason={reason.value} />}
      <section aria-label="Runs">
        <h2>Runs</h2>
        <ul class="plain">
          {runs.state.value.items.map((run) => (
            <li key={run.run_id}>
              <OwnedRun run={run} />
            </li>
          ))}
        </ul>
        <LoadMore pages={runs.state.value} thing="run" more={runs.more} again={runs.again} />
      </section>
      {isAsked.value && (
        <ReasonDialog
          title="Read the messages?"
          verb="Read"
          work={async (given) => {
            close();
            reason.value = given;
          }}
          onClose={close}
        >
          They are contents of {ownerInWords(userId)}.
        </ReasonDialog>
      )}
    </DetailPane>
  );
}

const Facts = ({ thread, isMasked }: { readonly thread: Thread; readonly isMasked: boolean }) => (
  <>
    <StatusDot status={thread.status ?? 'idle'} />
    <span>{whyOfThread(thread) ?? 'idle'}</span>
    {thread.agent !== null && <span>{thread.agent}</span>}
    <span>
      changed <RelativeTime at={thread.updated_at} isInSentence />
    </span>
    {isMasked && <span>Contents are masked</span>}
  </>
);
