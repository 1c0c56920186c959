import '../../styles/sharing.css';
import type { NewShare, Share, ShareRight } from '@agent-workflow/client';
import { useSignal } from '@preact/signals';
import { useAction } from '../../session/action.ts';
import { serviceNow } from '../../session/clock.ts';
import { usePages, type PagedList } from '../../session/pages.ts';
import { toHash } from '../../session/route.ts';
import { client } from '../../session/session.ts';
import { CopyButton } from '../copy-button.tsx';
import { ErrorNote } from '../error-note.tsx';
import { textIn } from '../form-text.ts';
import { LoadMore } from '../load-more.tsx';
import { Modal } from '../modal.tsx';
import { exactTime } from '../time-text.ts';
import { recipientText, rightsText } from './share-words.ts';
import { sharing } from './sharing.ts';

const close = (): void => {
  sharing.value = undefined;
};

/** Shares the thread of `sharing` with others, and lists with whom it is shared. */
export function ShareDialog() {
  const { value: threadId } = sharing;
  return threadId === undefined ? null : <Shares key={threadId} threadId={threadId} />;
}

function Shares({ threadId }: { readonly threadId: string }) {
  const shares = usePages<Share>(
    async (cursor, signal) => {
      const page = await client.shares.list(threadId, cursor === undefined ? {} : { cursor }, { signal });
      return { items: page.shares.filter((share) => !isOver(share)), cursor: page.cursor };
    },
    [threadId],
  );
  return (
    <Modal title="Share this thread" class="wide-dialog" onClose={close}>
      <ShareForm threadId={threadId} onShared={(share) => shares.edit((items) => [share, ...items])} />
      <SharedWith {...{ threadId, shares }} />
      <div class="row row-end">
        <button type="button" onClick={close}>
          Close
        </button>
      </div>
    </Modal>
  );
}

const isOver = ({ until }: Share): boolean => until !== null && Date.parse(until) <= serviceNow();

type Kind = 'user' | 'role' | 'everybody';

const kinds: readonly { readonly kind: Kind; readonly text: string }[] = [
  { kind: 'user', text: 'A user' },
  { kind: 'role', text: 'A role' },
  { kind: 'everybody', text: 'Everybody who signs in' },
];

interface ShareFormProps {
  readonly threadId: string;
  readonly onShared: (share: Share) => void;
}

function ShareForm({ threadId, onShared }: ShareFormProps) {
  const kind = useSignal<Kind>('user');
  const making = useAction<[NewShare, HTMLFormElement]>(async (signal, body, form) => {
    onShared(await client.shares.create(threadId, body, { signal }));
    form.reset();
    kind.value = 'user';
  });
  const onSubmit = (event: SubmitEvent): void => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    making.start(toShare(kind.peek(), new FormData(form)), form);
  };
  return (
    <form class="stack" onSubmit={onSubmit}>
      <fieldset class="checks">
        <legend>With</legend>
        {kinds.map(({ kind: each, text }) => (
          <label key={each} class="inline">
            <input
              type="radio"
              name="kind"
              value={each}
              checked={kind.value === each}
              onChange={() => {
                kind.value = each;
              }}
            />
            {text}
          </label>
        ))}
      </fieldset>
      {kind.value !== 'everybody' && (
        <label>
          {kind.value === 'user' ? 'Id of the user' : 'Name of the role'}
          <input key={kind.value} name="name" required maxLength={256} autocomplete="off" autofocus />
        </label>
      )}
      <fieldset class="checks">
        <legend>They read it with its files, and may</legend>
        <label class="inline">
          <input type="checkbox" name="write" />
          Send messages: the agent then has your memories
        </label>
        <label class="inline">
          <input type="checkbox" name="answer" />
          Answer what it asks you
        </label>
      </fieldset>
      <label>
        Until, where it is to end by itself
        <input type="datetime-local" name="until" />
      </label>
      {making.error.value !== undefined && <ErrorNote error={making.error.value} />}
      <div class="row row-end">
        <button type="submit" class="button-first" disabled={making.isBusy.value}>
          Share
        </button>
      </div>
    </form>
  );
}

function toShare(kind: Kind, form: FormData): NewShare {
  const name = textIn(form, 'name');
  const rights: ShareRight[] = ['read'];
  if (form.has('write')) rights.push('write');
  if (form.has('answer')) rights.push('answer');
  const until = Date.parse(textIn(form, 'until'));
  return {
    to: kind === 'user' ? { user: name } : kind === 'role' ? { role: name } : { everybody: true },
    rights,
    ...(Number.isFinite(until) && { until: new Date(until).toISOString() }),
  };
}

interface SharedWithProps {
  readonly threadId: string;
  readonly shares: PagedList<Share>;
}

function SharedWith({ threadId, shares }: SharedWithProps) {
  const { items, cursor, error, isLoading } = shares.state.value;
  return (
    <section aria-label="Shared with" class="stack">
      <h3>Shared with</h3>
      {items.length === 0 && !isLoading && error === undefined && cursor === undefined && (
        <p class="hint">Nobody yet: you alone see this thread.</p>
      )}
      <ul class="plain shares">
        {items.map((share) => (
          <ShareItem
            key={share.share_id}
            {...{ threadId, share }}
            onRevoked={() => shares.edit((all) => all.filter((each) => each !== share))}
          />
        ))}
      </ul>
      {(cursor !== undefined || error !== undefined) && (
        <LoadMore pages={shares.state.value} thing="share" more={shares.more} again={shares.again} />
      )}
    </section>
  );
}

interface ShareItemProps {
  readonly threadId: string;
  readonly share: Share;
  readonly onRevoked: () => void;
}

function ShareItem({ threadId, share, onRevoked }: ShareItemProps) {
  const revoking = useAction<[]>(async (signal) => {
    await client.shares.delete(threadId, share.share_id, { signal });
    onRevoked();
  });
  const who = recipientText(share.to);
  return (
    <li class="share">
      <p>
        <b dir="auto">{who}</b>
        <span class="hint">
          {rightsText(share.rights)}
          {share.until !== null && `, until ${exactTime(Date.parse(share.until))}`}
        </span>
      </p>
      <CopyButton
        name={`Copy link for ${who}`}
        text={() => `${location.origin}${location.pathname}${toHash({ view: 'shared', id: share.share_id })}`}
      >
        Copy link
      </CopyButton>
      <button
        type="button"
        class="danger"
        aria-label={`Revoke the share with ${who}`}
        disabled={revoking.isBusy.value}
        onClick={() => revoking.start()}
      >
        Revoke
      </button>
      {revoking.error.value !== undefined && <ErrorNote error={revoking.error.value} />}
    </li>
  );
}
