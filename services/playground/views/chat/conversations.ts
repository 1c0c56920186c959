import { signal, type ReadonlySignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { client, token } from '../../session/session.ts';
import { withFirstPage, type ListedThread } from './conversation-list.ts';

/** What is read of the list of chats so far. It stays while other views are shown. */
interface Conversations {
  readonly threads: readonly ListedThread[];
  readonly cursor?: string | undefined;
  readonly error?: unknown;
  /** Whether a page was read, or could not be. */
  readonly isRead: boolean;
}

const empty: Conversations = { threads: [], isRead: false };
const listed = signal<Conversations>(empty);

/** What the list is searched for, and the token that it was read with. */
let asked: { readonly search: string; readonly token: string } | undefined;

const pageSize = 50;

/** What the list shows of a thread. */
const shown = ['thread_id', 'thread_name', 'title', 'agent', 'status', 'waits_for', 'updated_at', 'interrupts'];

/** How often the list is read anew while the page is in sight, in milliseconds. */
const everyMs = 15_000;

async function readPage(cursor: string | undefined): Promise<void> {
  const by = asked;
  if (by === undefined) return;
  const query = {
    limit: pageSize,
    select: shown,
    ...(by.search !== '' && { search: by.search }),
    ...(cursor !== undefined && { cursor }),
  };
  try {
    const page = await client.threads.search(query);
    // The reader has searched for something else meanwhile, or is another one.
    if (asked !== by) return;
    const threads = page.threads as readonly ListedThread[];
    const before = listed.peek();
    listed.value =
      cursor === undefined
        ? {
            threads: withFirstPage(before.threads, threads, page.cursor === undefined),
            cursor: before.threads.length > threads.length && page.cursor !== undefined ? before.cursor : page.cursor,
            isRead: true,
          }
        : { threads: [...before.threads, ...threads], cursor: page.cursor, isRead: true };
  } catch (error) {
    if (asked === by) listed.value = { ...listed.peek(), error, isRead: true };
  }
}

/** Reads the newest chats again: something has changed. */
export function refreshConversations(): void {
  void readPage(undefined);
}

/** The next page of the list. */
export const moreConversations = (): Promise<void> => readPage(listed.peek().cursor);

/** The chats of the reader that hold a text in their name, id or metadata, the newest first. They are kept up to date while they are shown. */
export function useConversations(search: string): ReadonlySignal<Conversations> {
  useEffect(() => {
    if (asked?.search !== search || asked.token !== token.value) {
      asked = { search, token: token.value };
      listed.value = empty;
    }
    refreshConversations();
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') refreshConversations();
    }, everyMs);
    addEventListener('focus', refreshConversations);
    return () => {
      clearInterval(timer);
      removeEventListener('focus', refreshConversations);
    };
  }, [search, token.value]);
  return listed;
}
