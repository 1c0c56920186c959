import type { Thread } from '@agent-workflow/client';
import { useSeveralAgents } from '../../session/agents.ts';
import { usePages } from '../../session/pages.ts';
import { useRefresh } from '../../session/refresh.ts';
import { route, toHash } from '../../session/route.ts';
import { client } from '../../session/session.ts';
import { ChoiceBox } from '../../ui/choice-box.tsx';
import { Blank } from '../../ui/patterns/blank.tsx';
import { ListPane } from '../../ui/patterns/list-pane.tsx';
import { Listed } from '../../ui/patterns/listed.tsx';
import { SearchBox } from '../../ui/search-box.tsx';
import { useTitle } from '../../ui/title.ts';
import { select } from '../runs/run-filters.tsx';
import { threadFilterOf, threadStatusChoices } from '../threads/thread-selection.ts';
import { ownerOf, userOf } from './of-owner.ts';
import { OwnedThread } from './owned-rows.tsx';

/** Each of a page is read by itself. */
const pageSize = 50;

/** How often the first page is read again, in milliseconds. */
const refreshMs = 9000;

type Query = Readonly<Record<string, string>>;

/** The threads of everybody that have a run, by their newest, by what the address selects. */
export function AllThreads() {
  useTitle('Operators');
  const { query } = route.value;
  const { user = '', agent = '', status = '' } = query;
  const threads = usePages<Thread>(
    async (cursor, signal) => {
      const { status: statuses } = threadFilterOf({ status }, 0);
      const only = { ...ownerOf(user), ...(agent && { agent }), ...(statuses && { status: statuses }) };
      const page = await client.admin.listThreads(
        { ...only, limit: pageSize, ...(cursor !== undefined && { cursor }) },
        { signal },
      );
      return { items: page.threads, cursor: page.cursor };
    },
    [user, agent, status],
  );
  useRefresh(() => {
    if (threads.state.peek().items.length <= pageSize) threads.again();
  }, refreshMs);
  const { items } = threads.state.value;
  return (
    <ListPane
      title="Operators"
      count={items.length > 0 && 'Threads of everybody'}
      actions={
        <a class="button" href={toHash({ view: 'operators', query: user ? { user } : {} })}>
          Runs
        </a>
      }
      filters={<Filters query={query} />}
    >
      <Listed
        list={threads}
        entries={items}
        label="Threads of everybody"
        thing="thread"
        estimate={40}
        keyOf={(thread) => JSON.stringify([userOf(thread), thread.thread_id])}
        none={<Blank title="No thread is as you ask" text="Another filter may find some." />}
        render={(thread) => <OwnedThread thread={thread} />}
      />
    </ListPane>
  );
}

/** What the service lists threads of everybody by. */
const statuses = threadStatusChoices.filter(({ word }) => word !== 'asking');

function Filters({ query }: { readonly query: Query }) {
  const agents = useSeveralAgents().map(({ name }) => ({ word: name, text: name }));
  return (
    <>
      <SearchBox
        label="Owner"
        name="Owner"
        placeholder="Owner"
        value={query['user'] ?? ''}
        onSearch={(user) => select({ user })}
      />
      <ChoiceBox
        label="Status"
        any="Any status"
        choices={statuses}
        value={query['status'] ?? ''}
        onChoose={(status) => select({ status })}
      />
      {agents.length > 0 && (
        <ChoiceBox
          label="Agent"
          any="Any agent"
          choices={agents}
          value={query['agent'] ?? ''}
          onChoose={(agent) => select({ agent })}
        />
      )}
    </>
  );
}
