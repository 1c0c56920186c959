import type { Thread } from '@agent-workflow/client';
import { serviceNow } from '../../session/clock.ts';
import { useLiveList } from '../../session/live-list.ts';
import { go, route } from '../../session/route.ts';
import { client } from '../../session/session.ts';
import { isRead } from '../../ui/new-items.tsx';
import { Blank } from '../../ui/patterns/blank.tsx';
import { Panes } from '../../ui/patterns/panes.tsx';
import { RawOnFault } from '../../ui/patterns/raw-on-fault.tsx';
import { useTitle } from '../../ui/title.ts';
import { toast } from '../../ui/toasts.tsx';
import { ThreadList } from './thread-list.tsx';
import { ThreadPane } from './thread-pane.tsx';
import { threadFilterOf, threadSelectionOf } from './thread-selection.ts';

const pageSize = 100;

/** The threads of the reader, beside the one that is open. */
export function ThreadsView() {
  const { id, query } = route.value;
  const selection = threadSelectionOf(query);
  const threads = useLiveList<Thread>({
    load: async (cursor, signal) => {
      const filter = threadFilterOf(selection, serviceNow());
      const page = await client.threads.search(
        { ...filter, limit: pageSize, ...(cursor !== undefined && { cursor }) },
        { signal },
      );
      // Without a choice of fields a search shows all that a thread has.
      return { items: page.threads as readonly Thread[], cursor: page.cursor };
    },
    inputs: [JSON.stringify(selection)],
    keyOf: ({ thread_id: each }) => each,
    timeOf: ({ updated_at: updated }) => Date.parse(updated ?? ''),
    isMoving: ({ status }) => status === 'running' || status === 'queued',
    isReading: () => isRead(document.querySelector('.thread-rows')),
  });
  const onDeleted = (deleted: Thread): void => {
    threads.edit((listed) => listed.filter((thread) => thread.thread_id !== deleted.thread_id));
    toast({ text: `“${deleted.title ?? deleted.thread_id}” is deleted.` });
    go({ view: 'threads', query: selection });
  };
  const onChanged = (changed: Thread): void =>
    threads.edit((listed) =>
      listed.map((each) => (each.thread_id === changed.thread_id ? { ...each, ...changed } : each)),
    );
  return (
    <Panes
      hasDetail={id !== undefined}
      list={<ThreadList threads={threads} query={selection} openId={id} />}
      detail={
        <RawOnFault key={id}>
          {id === undefined ? (
            <NoThread />
          ) : (
            <ThreadPane id={id} query={selection} onDeleted={onDeleted} onChanged={onChanged} />
          )}
        </RawOnFault>
      }
    />
  );
}

function NoThread() {
  useTitle('Threads');
  return <Blank title="No thread is open" text="Choose one to see its state, and what changed it at each step." />;
}
