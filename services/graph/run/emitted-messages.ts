import { roles, type Block, type Message } from '@agent-workflow/protos/message';
import type { FinishReason } from '@agent-workflow/protos/usage';
import type { NodeContext } from '../build/context.ts';
import { RunFailure } from '../state/failure.ts';
import { chunksOf, publishedPart } from '../state/message-chunks.ts';
import { boundEmitted, draftMessage, type MessageChunk, type MessageDraft } from '../state/message.ts';

interface EmittedMessages extends Pick<NodeContext, 'messageId' | 'emit' | 'openMessage'> {
  /** An answer of a model ended: the message of the last chunk keeps the reason, unless it has one since that chunk. */
  readonly onFinish: (reason: FinishReason) => void;
  /** The messages that have a chunk, in the order of their first chunks. */
  readonly finish: () => readonly Message[];
  /** The ids of all that were opened: no other attempt has them. */
  readonly opened: readonly string[];
}

interface EmittedOptions {
  readonly toBlock: (block: Block) => Block;
  readonly onChunk: (chunk: MessageChunk) => void;
  /** Whether a chunk is published that is emitted now. */
  readonly mayEmit: () => boolean;
}

/** The messages that one attempt at a node makes of what it emits. */
export function collectEmitted({ toBlock, onChunk, mayEmit }: EmittedOptions): EmittedMessages {
  const countEmitted = boundEmitted();
  const begun: MessageDraft[] = [];
  const opened: string[] = [];
  let answering: MessageDraft | undefined;
  const openMessage: NodeContext['openMessage'] = (role = 'assistant') => {
    if (!roles.includes(role)) throw new RunFailure('NodeFailed', `openMessage() takes one of ${roles.join(', ')}`);
    const draft = draftMessage({ toBlock, countEmitted, role });
    opened.push(draft.messageId);
    let isBegun = false;
    return {
      messageId: draft.messageId,
      emit: (chunk) => {
        if (chunk === '' || !mayEmit()) return;
        const added = draft.add(chunk);
        if (!isBegun) begun.push(draft);
        isBegun = true;
        answering = draft;
        if (added.chunk !== '') onChunk(added);
      },
    };
  };
  return {
    ...openMessage(),
    openMessage,
    onFinish: (reason) => {
      answering?.endAnswer(reason);
      answering = undefined;
    },
    finish: () => begun.flatMap((draft) => draft.finish() ?? []),
    opened,
  };
}

const nothing: readonly MessageChunk[] = [];

interface Returned {
  readonly emitted: readonly Message[];
  /** What the node returned, and which of it has an id that no other attempt has. */
  readonly whole: readonly Message[];
  readonly isNew: (message: Message, index: number) => boolean;
  /** Whether other nodes may publish before the commit. */
  readonly streamsReturned: boolean | undefined;
}

/**
 * What is published of a node's returned messages before the commit: what one of them adds to the emitted message whose place it takes,
 * and whole messages where others may publish before the commit. A message with an id of the author's is not: an attempt
 * after a crash would publish its chunks again.
 */
export function chunksBeforeCommit({ emitted, whole, isNew, streamsReturned }: Returned): readonly MessageChunk[] {
  if (whole.length === 0 || (emitted.length === 0 && !streamsReturned)) return nothing;
  const known = new Map(emitted.map((message) => [message.message_id, message]));
  return whole.flatMap((message, index) => {
    const before = known.get(message.message_id);
    if (before) return toChunks(message, chunksOf(message, publishedPart(message, before)));
    return streamsReturned && isNew(message, index) ? chunksOfWhole(message) : [];
  });
}

/** All chunks of a message. */
export const chunksOfWhole = (message: Message): readonly MessageChunk[] => toChunks(message, chunksOf(message));

const toChunks = ({ message_id: messageId, role }: Message, chunks: readonly (string | Block)[]): MessageChunk[] =>
  chunks.map((chunk) => ({ messageId, role, chunk }));
