import { createYielder } from '@agent-workflow/kit/yielder';
import type { StoredState } from '../ports/reads.ts';
import type { LogEntry } from '../ports/record.ts';
import { fromJson } from './json.ts';

/** A stored text that is not the JSON that it should be. */
export interface UnreadableText {
  readonly threadId: string;
  /** What it is of the thread: `message.json`, `thread.metadata`, `checkpoint.metadata`, or `field.` with the name of the field. */
  readonly column: string;
}

/**
 * The JSON that others have written and the record keeps as it came, on its way into replies. Replies contain these texts unread, so that
 * one which is no JSON would spoil the whole reply. What workers of pools send is checked before it is stored; rows from before that check, and
 * damaged ones, may hold anything. They are left out, and reported.
 */
export interface StoredTexts {
  /** The messages that can be read. */
  readonly messages: <M extends Pick<LogEntry, 'json'>>(
    threadId: string,
    messages: readonly M[],
    signal?: AbortSignal,
  ) => Promise<readonly M[]>;
  /** The row, without its metadata where that cannot be read. */
  readonly withMetadata: <R extends { readonly metadata?: Uint8Array }>(
    threadId: string,
    owner: 'thread' | 'checkpoint',
    row: R,
  ) => R;
  /** The fields and the messages of the context that can be read. */
  readonly state: <S extends Pick<StoredState, 'fields' | 'context'>>(threadId: string, state: S) => Promise<S>;
  /** What `read` makes of a text; `undefined` where it throws, because the text is not what it should be. */
  readonly read: <T>(text: UnreadableText, read: () => T) => T | undefined;
}

/** `onUnreadable` gets each text that is left out, every time. */
export function createStoredTexts(onUnreadable: (text: UnreadableText) => void): StoredTexts {
  const read: StoredTexts['read'] = (text, make) => {
    try {
      return make();
    } catch {
      onUnreadable(text);
      return undefined;
    }
  };
  const isJson = (text: UnreadableText, json: Uint8Array): boolean => read(text, () => [fromJson(json)]) !== undefined;

  const messages: StoredTexts['messages'] = async (threadId, all, signal) => {
    const yielder = createYielder({ signal });
    const unreadable = new Set<Pick<LogEntry, 'json'>>();
    for (const message of all) {
      try {
        readObject(message.json);
      } catch {
        onUnreadable({ threadId, column: 'message.json' });
        unreadable.add(message);
      }
      if (yielder.isDue()) await yielder.yield();
    }
    return unreadable.size === 0 ? all : all.filter((message) => !unreadable.has(message));
  };

  return {
    read,
    messages,

    withMetadata: (threadId, owner, row) => {
      const { metadata, ...rest } = row;
      if (!metadata || isJson({ threadId, column: `${owner}.metadata` }, metadata)) return row;
      return rest as typeof row;
    },

    state: async (threadId, state) => {
      const { fields, context } = state;
      const readable = Object.entries(fields).filter(([name, json]) =>
        isJson({ threadId, column: `field.${name}` }, json),
      );
      const entries = await messages(
        threadId,
        context.map((json) => ({ json })),
      );
      return { ...state, fields: Object.fromEntries(readable), context: entries.map(({ json }) => json) };
    },
  };
}

const closing = 0x7d;

/** @throws SyntaxError unless the text is a JSON object. Its last byte is the end of the object: replies put further fields before it. */
function readObject(json: Uint8Array): void {
  if (json[json.length - 1] !== closing) throw new SyntaxError('the text does not end with an object');
  fromJson(json);
}
