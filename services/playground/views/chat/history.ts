import type { RequestError } from '@agent-workflow/client';
import { signal, type ReadonlySignal } from '@preact/signals';
import { client } from '../../session/session.ts';
import { mergePage, prependPage, type Conversation, type LoggedMessage } from './conversation.ts';
import { findNewestPage, pageSize } from './newest-page.ts';

/** The log of the thread as far as it is on the page. */
export interface History {
  /** How many messages of the log stand before those on the page; 0 when all are there. */
  readonly before: ReadonlySignal<number>;
  readonly isLoading: ReadonlySignal<boolean>;
  readonly error: ReadonlySignal<unknown>;
  /** Reads the newest messages. */
  readonly loadNewest: (threadId: string) => Promise<void>;
  /** Reads the page before those that are there. */
  readonly loadOlder: (threadId: string) => Promise<void>;
  /** Reads what has been added to the log since. */
  readonly refresh: (threadId: string) => Promise<void>;
  /** There is nothing to read: the thread is new. */
  readonly settle: () => void;
}

/** The most pages that one reading takes. */
const maxPages = 20;

/** Reads the log of a thread into a conversation, the newest page first. */
export function createHistory(conversation: Conversation, signalOfPage: AbortSignal, changed: () => void): History {
  const before = signal(0);
  const isLoading = signal(true);
  const error = signal<unknown>(undefined);
  const options = { signal: signalOfPage };

  /** The messages from a place on, `count` of them or to the end: a page may end early, at its bytes. */
  const read = async (threadId: string, offset: number, count: number): Promise<readonly LoggedMessage[]> => {
    const messages: LoggedMessage[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < maxPages && messages.length < count; page++) {
      const limit = Math.min(count - messages.length, 1000);
      const query = cursor === undefined ? { offset, limit } : { cursor, limit };
      const given = await client.threads.messages(threadId, query, options);
      messages.push(...given.messages);
      ({ cursor } = given);
      if (cursor === undefined) break;
    }
    return messages;
  };

  const exists = async (threadId: string, offset: number): Promise<boolean> =>
    (await client.threads.messages(threadId, { offset, limit: 1 }, options)).messages.length > 0;

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

  return {
    before,
    isLoading,
    error,
    loadNewest: (threadId) =>
      loading(async () => {
        const first = await client.threads.messages(threadId, { limit: pageSize }, options);
        const from = first.cursor === undefined ? 0 : await findNewestPage((offset) => exists(threadId, offset));
        mergePage(
          conversation,
          from === 0 && first.cursor === undefined ? first.messages : await read(threadId, from, 1000),
        );
        before.value = from;
      }),
    loadOlder: async (threadId) => {
      if (isLoading.peek() || before.peek() === 0) return;
      await loading(async () => {
        const from = Math.max(0, before.peek() - pageSize);
        prependPage(conversation, await read(threadId, from, before.peek() - from));
        before.value = from;
      });
    },
    refresh: async (threadId) => {
      const end = before.peek() + conversation.entries.length;
      mergePage(conversation, await read(threadId, Math.max(before.peek(), end - pageSize), 1000));
      changed();
    },
    settle: () => {
      isLoading.value = false;
      error.value = undefined;
    },
  };
}

/** Whether a request was refused because there is no such thread. */
export const isAbsent = (error: unknown): boolean => (error as Partial<RequestError> | undefined)?.status === 404;
