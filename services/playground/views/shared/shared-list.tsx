import type { SharedThread } from '@agent-workflow/client';
import { me } from '../../session/me.ts';
import { usePages } from '../../session/pages.ts';
import { useRefresh } from '../../session/refresh.ts';
import { toHash } from '../../session/route.ts';
import { counted } from '../../ui/format.ts';
import { Blank } from '../../ui/patterns/blank.tsx';
import { Listed } from '../../ui/patterns/listed.tsx';
import { ListPane } from '../../ui/patterns/list-pane.tsx';
import { RelativeTime } from '../../ui/patterns/relative-time.tsx';
import { Row } from '../../ui/patterns/row.tsx';
import { sharedPage } from './shared-pages.ts';

/** How often the first page is read again, in milliseconds. */
const refreshMs = 15_000;
const pageSize = 100;

/** The threads that others share with the reader. */
export function SharedList({ openId }: { readonly openId: string | undefined }) {
  const roles = me.value?.roles.map(({ name }) => name) ?? [];
  const list = usePages<SharedThread>((cursor, signal) => sharedPage(roles, cursor, signal), [roles.join('\n')]);
  useRefresh(() => {
    if (list.state.peek().items.length <= pageSize) list.again();
  }, refreshMs);
  const { items, cursor } = list.state.value;
  return (
    <ListPane
      title="Shared with you"
      count={items.length > 0 && cursor === undefined && counted(items.length, 'thread')}
    >
      <Listed
        list={list}
        entries={items}
        label="Threads that are shared with you"
        thing="thread"
        estimate={56}
        isCounted
        keyOf={({ share_id: id }) => id}
        none={
          <Blank
            title="Nothing is shared with you"
            text="A thread that its owner shares with you, with a role of yours or with everybody stands here."
            docs="/docs/sharing"
          />
        }
        render={(share) => <SharedRow share={share} isOpen={share.share_id === openId} />}
      />
    </ListPane>
  );
}

const SharedRow = ({ share, isOpen }: { readonly share: SharedThread; readonly isOpen: boolean }) => (
  <Row
    href={toHash({ view: 'shared', id: share.share_id })}
    status={share.status === 'idle' ? undefined : share.status}
    title={share.thread_title ?? share.thread_id}
    facts={[`by ${share.user_id}`]}
    time={<RelativeTime at={share.updated_at} />}
    isSelected={isOpen}
  />
);
