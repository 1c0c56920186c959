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
  /** The texts of those messages, as `show` makes them, in one JSON array. */
  readonly messagesJson: <M extends Pick<LogEntry, 'json'>>(
    threadId: string,
    messages: readonly M[],
    options: { readonly show: (text: string, message: M) => string; readonly signal: AbortSignal },
  ) => Promise<Uint8Array>;
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

  async function eachMessage<M extends Pick<LogEntry, 'json'>>(
    threadId: string,
    all: readonly M[],
    { take, signal }: { readonly take: (message: M, text: string) => void; readonly signal?: AbortSignal | undefined },
  ): Promise<void> {
    const yielder = createYielder({ signal });
    for (const message of all) {
      const text = objectText(message.json);
      if (text === undefined) onUnreadable({ threadId, column: 'message.json' });
      else take(message, text);
      if (yielder.isDue()) await yielder.yield();
    }
  }

  const messages: StoredTexts['messages'] = async <M extends Pick<LogEntry, 'json'>>(
    threadId: string,
    all: readonly M[],
    signal?: AbortSignal,
  ) => {
    const readable: M[] = [];
    await eachMessage(threadId, all, { take: (message) => readable.push(message), signal });
    return readable;
  };

  return {
    read,
    messages,

    messagesJson: async (threadId, all, { show, signal }) => {
      let texts = '';
      await eachMessage(threadId, all, {
        take: (message, text) => {
          texts += `${texts === '' ? '' : ','}${show(text, message)}`;
        },
        signal,
      });
      return Buffer.from(`[${texts}]`);
    },

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

/** The text, if it is that of a JSON object. Its last byte is the end of the object: replies put further fields before it. */
function objectText(json: Uint8Array): string | undefined {
  if (json[json.length - 1] !== closing) return undefined;
  const text = Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString();
  try {
    JSON.parse(text);
    return text;
  } catch {
    return undefined;
  }
}
