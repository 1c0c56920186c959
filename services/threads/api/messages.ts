import { notFound, ServiceError } from '@agent-workflow/kit/errors';
import type { FixThreadRequest, MessageCalls } from '@agent-workflow/protos/threads';
import type { References } from '../files/references.ts';
import { listMessages, toMessageJson } from '../lists/lists.ts';
import { decideAddMessages } from '../messages/decisions.ts';
import { decideDeleteMessage } from '../messages/decisions.ts';
import { decideFix, findBroken } from '../messages/decisions.ts';
import type { ThreadLists } from '../ports/lists.ts';
import type { ThreadReads } from '../ports/reads.ts';
import type { ThreadKey } from '../ports/record.ts';
import type { StoredTexts } from '../record/stored-texts.ts';
import { isVersionConflict } from '../state/write.ts';
import type { Changing } from './changing.ts';
import { idsOf, keyOf, liveHead } from './found.ts';

/** How often a thread that changes meanwhile is fixed again. */
const fixAttempts = 5;

interface MessageCallsOptions {
  readonly store: ThreadReads & ThreadLists;
  readonly changing: Changing;
  readonly texts: StoredTexts;
  readonly references: References;
  readonly now: () => number;
}

export function createMessageCalls({ store, changing, texts, references, now }: MessageCallsOptions): MessageCalls {
  const { replyOnRequest } = changing;

  /** @returns how many assistant messages were removed. */
  const fix = async (request: FixThreadRequest): Promise<number> => {
    const key = keyOf(request);
    const broken = await findBroken({ store, texts }, key, await liveHead(store, key));
    const messages = [...broken.callers, ...broken.answers];
    return replyOnRequest({ key, reads: { messages }, method: 'fixThread', request }, (snapshot) =>
      decideFix(key, broken, snapshot, now()),
    );
  };

  /** @throws NotFound */
  const storedMessage = async (key: ThreadKey, messageId: string) => {
    const message = await store.getMessage(key, messageId);
    if (!message) throw notFound(`message "${messageId}" does not exist in thread "${key.threadId}"`);
    return message;
  };

  return {
    listMessages: async (request, call) => {
      const key = keyOf(request);
      await liveHead(store, key);
      const { afterMessageId } = request;
      const after = afterMessageId === undefined ? undefined : (await storedMessage(key, afterMessageId)).position;
      return listMessages({ store, texts }, { ...request, after }, call);
    },

    getMessage: async ({ messageId, ...key }) => {
      await liveHead(store, key);
      const message = await storedMessage(key, messageId);
      const [readable] = await texts.messages(key.threadId, [message]);
      if (!readable)
        throw new ServiceError('Internal', `message "${messageId}" of thread "${key.threadId}" cannot be read`);
      return { json: toMessageJson(readable) };
    },

    addMessages: async (request) => {
      const key = keyOf(request);
      const reads = { messages: idsOf(request.messages) };
      return references.withRequest(key, request.messages, () =>
        replyOnRequest({ key, reads, method: 'addMessages', request }, (snapshot) =>
          decideAddMessages(request, snapshot, now()),
        ),
      );
    },

    deleteMessage: async (request) => {
      const reads = { messages: [request.messageId] };
      await replyOnRequest({ key: keyOf(request), reads, method: 'deleteMessage', request }, (snapshot) =>
        decideDeleteMessage(request, snapshot, now()),
      );
      return {};
    },

    fixThread: async (request, { signal }) => {
      for (let attempt = 1; ; attempt += 1) {
        signal.throwIfAborted();
        try {
          return { removedCount: await fix(request) };
        } catch (error) {
          if (attempt === fixAttempts || !isVersionConflict(error)) throw error;
        }
      }
    },
  };
}
