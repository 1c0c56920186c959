import { useSignal } from '@preact/signals';
import { usePages } from '../../session/pages.ts';
import { go, route } from '../../session/route.ts';
import { client } from '../../session/session.ts';
import { RawOnFault } from '../../ui/raw-on-fault.tsx';
import { useTitle } from '../../ui/title.ts';
import { ThreadList } from './thread-list.tsx';
import { ThreadPane } from './thread-pane.tsx';

const pageSize = 200;

/** The threads of the reader, beside the one that is open. */
export function ThreadsView() {
  const { id, query } = route.value;
  const search = query['search'] ?? '';
  const notice = useSignal('');
  const threads = usePages(
    async (cursor, signal) => {
      const page = await client.threads.list(
        { limit: pageSize, ...(search && { search }), ...(cursor !== undefined && { cursor }) },
        { signal },
      );
      return { items: page.threads, cursor: page.cursor };
    },
    [search],
  );
  const onDeleted = (deleted: string): void => {
    threads.edit((listed) => listed.filter((thread) => thread.thread_id !== deleted));
    notice.value = `The thread ${deleted} is deleted.`;
    go({ view: 'threads', query: { ...(search && { search }) } });
  };
  return (
    <div class={id === undefined ? 'browse' : 'browse browse-open'}>
      <ThreadList threads={threads} search={search} openId={id} notice={notice.value} />
      <RawOnFault key={id}>
        {id === undefined ? <NoThread /> : <ThreadPane id={id} search={search} onDeleted={onDeleted} />}
      </RawOnFault>
    </div>
  );
}

function NoThread() {
  useTitle('Threads');
  return <p class="hint browse-none">Choose a thread to see its state and its versions.</p>;
}
