import type { Client, RequestError } from '@agent-workflow/client';
import { computed, signal, type ReadonlySignal } from '@preact/signals';
import { mergePage, prependPage, type Conversation, type LoggedMessage } from './conversation.ts';

/** The log of the thread as far as it is on the page. */
export interface History {
  /** Whether messages of the log stand before those on the page. */
  readonly hasOlder: ReadonlySignal<boolean>;
  readonly isLoading: ReadonlySignal<boolean>;
  readonly error: ReadonlySignal<unknown>;
  /** Reads the newest messages. */
  readonly loadNewest: (threadId: string) => Promise<void>;
  /** Reads the page before those that are there. */
  readonly loadOlder: (threadId: string) => Promise<void>;
  /** Reads as many pages before those that are there as it takes to have a message. @returns whether it is there */
  readonly loadUntil: (threadId: string, messageId: string) => Promise<boolean>;
  /** Reads what has been added to the log since. */
  readonly refresh: (threadId: string) => Promise<void>;
  /** There is nothing to read: the thread is new. */
  readonly settle: () => void;
  /** Forgets the thread: there is none. */
  readonly clear: () => void;
}

/** How many messages are read at once, and when many may have been added. */
const pageSize = 100;
const largePage = 1000;

/** The most pages that one reading takes. */
const maxPages = 20;

interface HistoryOptions {
  readonly readMessages: Client['threads']['messages'];
  readonly signalOfPage: AbortSignal;
  readonly changed: () => void;
}

/** Reads the log of a thread into a conversation, the newest page first. */
export function createHistory(
  conversation: Conversation,
  { readMessages, signalOfPage, changed }: HistoryOptions,
): History {
  /** Goes on with the messages before those on the page. */
  const older = signal<string | undefined>(undefined);
  const isLoading = signal(true);
  const error = signal<unknown>(undefined);
  /** The messages that were read from the log. */
  const logged = new Set<string>();

  /** A page from the end of the log, or from a cursor on, in the order of the log. */
  const read = async (threadId: string, limit: number, cursor: string | undefined): Promise<LogPage> => {
    const query = { order: 'desc', limit, ...(cursor !== undefined && { cursor }) } as const;
    const page = await readMessages(threadId, query, { signal: signalOfPage });
    return { messages: page.messages.toReversed(), before: page.cursor };
  };

  const note = (messages: readonly LoggedMessage[]): readonly LoggedMessage[] => {
    for (const { message_id: id } of messages) logged.add(id);
    return messages;
  };

  /** The messages from the last one that was read on, or all, as far as some pages hold them. */
  const readSince = async (threadId: string): Promise<readonly LoggedMessage[]> => {
    let found: readonly LoggedMessage[] = [];
    let cursor: string | undefined;
    for (let pages = 0; pages < maxPages; pages++) {
      const page = await read(threadId, pages === 0 ? pageSize : largePage, cursor);
      found = [...page.messages, ...found];
      const known = page.messages.findIndex(({ message_id: id }) => logged.has(id));
      // What stands before it may be missing on the page because it was not read yet.
      if (known !== -1) return found.slice(known);
      cursor = page.before;
      if (cursor === undefined) break;
    }
    return found;
  };

  const loading = async (load: () => Promise<void>): Promise<void> => {
    isLoading.value = true;
    error.value = undefined;
    try {
      await load();
    } catch (thrown) {
      if (!signalOfPage.aborted) error.value = thrown;
    } finally {
      isLoading.value = false;
      changed();
    }
  };

  const settle = (): void => {
    isLoading.value = false;
    error.value = undefined;
  };

  const loadOlder = async (threadId: string, limit: number): Promise<void> => {
    const cursor = older.peek();
    if (isLoading.peek() || cursor === undefined) return;
    await loading(async () => {
      const { messages, before } = await read(threadId, limit, cursor);
      prependPage(conversation, note(messages));
      older.value = before;
    });
  };

  return {
    hasOlder: computed(() => older.value !== undefined),
    isLoading,
    error,
    loadNewest: (threadId) =>
      loading(async () => {
        const { messages, before } = await read(threadId, pageSize, undefined);
        logged.clear();
        mergePage(conversation, note(messages));
        older.value = before;
      }),
    loadOlder: (threadId) => loadOlder(threadId, pageSize),
    loadUntil: async (threadId, messageId) => {
      for (let pages = 0; pages < maxPages && !conversation.byId.has(messageId); pages++) {
        const before = older.peek();
        await loadOlder(threadId, largePage);
        if (older.peek() === before) break;
      }
      return conversation.byId.has(messageId);
    },
    refresh: async (threadId) => {
      mergePage(conversation, note(await readSince(threadId)));
      changed();
    },
    settle,
    clear: () => {
      older.value = undefined;
      logged.clear();
      settle();
    },
  };
}

interface LogPage {
  readonly messages: readonly LoggedMessage[];
  /** The cursor of the messages before them, if there are any. */
  readonly before: string | undefined;
}

/** Whether a request was refused because there is no such thread. */
export const isAbsent = (error: unknown): boolean => (error as Partial<RequestError> | undefined)?.status === 404;
