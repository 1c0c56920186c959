import '../../styles/sharing.css';
import { RequestError, type Share } from '@agent-workflow/client';
import { useEffect, useState } from 'preact/hooks';
import { useLoaded } from '../../session/loaded.ts';
import { useRefresh } from '../../session/refresh.ts';
import { route, toHash } from '../../session/route.ts';
import { client, token } from '../../session/session.ts';
import { Blank } from '../../ui/patterns/blank.tsx';
import { Failure } from '../../ui/patterns/failure.tsx';
import { Panes } from '../../ui/patterns/panes.tsx';
import { RawOnFault } from '../../ui/patterns/raw-on-fault.tsx';
import { Skeleton } from '../../ui/patterns/skeleton.tsx';
import { useTitle } from '../../ui/title.ts';
import { sharedThread } from '../chat/chat-source.ts';
import { Thread } from '../chat/chat-view.tsx';
import { leaveChat, openChat } from '../chat/opened.ts';
import { SharedList } from './shared-list.tsx';

/** What others share with the reader, beside the thread that is open. */
export function SharedView() {
  const { id } = route.value;
  useTitle('Shared with you');
  return (
    <Panes
      hasDetail={id !== undefined}
      list={<SharedList openId={id} />}
      detail={
        <RawOnFault key={id}>
          {id === undefined ? (
            <Blank title="No thread is open" text="Choose one that is shared with you." />
          ) : (
            <Shared key={`${id} ${token.value}`} id={id} />
          )}
        </RawOnFault>
      }
    />
  );
}

/** The thread of a share, once it is known what the reader may do with it. */
function Shared({ id }: { readonly id: string }) {
  const { state, again } = useLoaded((signal) => client.shares.get(id, { signal }), [id]);
  const { value: share, error } = state.value;
  if (error instanceof RequestError && error.status === 404) return <NotShared />;
  if (error !== undefined) return <Failure error={error} retry={again} />;
  return share ? <SharedThread share={share} /> : <Skeleton rows={6} />;
}

/** How often it is asked whether the thread has news, and is shared still, in milliseconds. */
const refreshMs = 4000;

function SharedThread({ share }: { readonly share: Share }) {
  const [opened] = useState(() => openChat(share.share_id, route.peek().query['run'], sharedThread(share)));
  const { chat } = opened;
  useEffect(() => () => leaveChat(opened), [opened]);
  const catchUp = (): void => void chat.catchUp().catch(() => undefined);
  useRefresh(catchUp, refreshMs);
  // A stream that has ended with the share is no failure of the page.
  const failure = chat.runs.failure.value;
  useEffect(() => {
    if (failure instanceof RequestError && failure.status === 404) catchUp();
  }, [failure]);
  if (chat.thread.missing.value !== undefined) return <NotShared owner={share.user_id} />;
  return <Thread {...opened} />;
}

/** Says that there is nothing to see. `owner` is who has shared it while it was open. */
const NotShared = ({ owner }: { readonly owner?: string }) => (
  <div role="status">
    <h1 class="unseen">Shared thread</h1>
    <Blank
      title={owner === undefined ? 'This is not shared with you' : `${owner} no longer shares this thread with you`}
      text={
        owner === undefined
          ? 'The share was revoked, its time is over, or it was made for somebody else.'
          : 'The share was revoked, or its time is over. Messages that you have sent stay in the thread of its owner.'
      }
      action={
        <a class="button" href={toHash({ view: 'shared' })}>
          All that is shared with you
        </a>
      }
    />
  </div>
);
