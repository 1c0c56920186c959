import { signal, type ReadonlySignal } from '@preact/signals';
import type { Chat } from './chat.ts';

/** A search in the messages of an open thread. */
export interface Finding {
  readonly isOpen: ReadonlySignal<boolean>;
  /** What is sought. */
  readonly text: ReadonlySignal<string>;
  /** The messages that hold it, the oldest first: all of the log, and not only what is on the page. */
  readonly ids: ReadonlySignal<readonly string[]>;
  /** Which of them is shown, from 0. */
  readonly at: ReadonlySignal<number>;
  /** Whether older messages hold it as well that were not counted. */
  readonly hasMore: ReadonlySignal<boolean>;
  readonly isReading: ReadonlySignal<boolean>;
  readonly error: ReadonlySignal<unknown>;
  readonly open: () => void;
  readonly close: () => void;
  /** Seeks another text; the newest message that holds it is shown. */
  readonly seek: (text: string) => Promise<void>;
  /** Shows the next one, or the one before; after the last comes the first. */
  readonly step: (by: 1 | -1) => void;
}

/** The newest messages that hold a text, at most. */
const maxFound = 1000;

export function createFinding({ threadId, lifetime, source: { client } }: Chat): Finding {
  const isOpen = signal(false);
  const text = signal('');
  const ids = signal<readonly string[]>([]);
  const at = signal(0);
  const hasMore = signal(false);
  const isReading = signal(false);
  const error = signal<unknown>(undefined);
  const seek = async (sought: string): Promise<void> => {
    text.value = sought;
    error.value = undefined;
    const id = threadId.peek();
    if (sought === '' || id === undefined) {
      ids.value = [];
      return;
    }
    isReading.value = true;
    try {
      const query = { search: sought, order: 'desc', limit: maxFound } as const;
      const page = await client.threads.messages(id, query, { signal: lifetime.signal });
      // The reader has gone on to type.
      if (text.peek() !== sought) return;
      ids.value = page.messages.map(({ message_id: each }) => each).toReversed();
      hasMore.value = page.cursor !== undefined;
      at.value = Math.max(0, ids.value.length - 1);
    } catch (thrown) {
      if (text.peek() === sought && !lifetime.signal.aborted) error.value = thrown;
    } finally {
      if (text.peek() === sought) isReading.value = false;
    }
  };
  return {
    ...{ isOpen, text, ids, at, hasMore, isReading, error, seek },
    open: () => {
      isOpen.value = true;
    },
    close: () => {
      isOpen.value = false;
      void seek('');
    },
    step: (by) => {
      const { length } = ids.peek();
      if (length > 0) at.value = (at.peek() + by + length) % length;
    },
  };
}
