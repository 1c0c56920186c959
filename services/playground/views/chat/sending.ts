import { randomUuid } from '@agent-workflow/kit/uuid';
import type { Block } from '@agent-workflow/client';
import type { RefObject } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { reasonToChoose } from './agent-choice.ts';
import { settledChoiceOf } from './agent-picker.tsx';
import { useAttachments, type KeptAttachments } from './attached.ts';
import { blocksOf, textBlocks } from './attached-blocks.ts';
import type { Chat } from './chat.ts';
import { useKeptText } from './kept-text.ts';
import type { Writing } from './opened.ts';
import { noteOptionsSent, takeOptions } from './options.tsx';
import type { Unsent } from './unsent.ts';

/** How a message is sent while the agent waits: as the answer to its question, or past it. */
type Way = 'asks' | 'answer' | 'past';

/** The message that is being written, and how it is sent. */
interface Sending {
  readonly kept: KeptAttachments;
  readonly isEmpty: boolean;
  /** Whether the reader is asked what the message is, because the agent waits for an answer. */
  readonly isGuarded: boolean;
  readonly unguard: () => void;
  /** Sends the message, also when its reader goes elsewhere meanwhile. What fails stands in `writing.error`. */
  readonly begin: (way: Way) => void;
}

interface SendingOptions {
  readonly chat: Chat;
  readonly unsent: Unsent;
  readonly writing: Writing;
  /** Where the message is typed. */
  readonly box: RefObject<HTMLTextAreaElement>;
}

/** Sends the message that is being written. What is refused stays in the box. */
export function useSending({ chat, unsent, writing, box }: SendingOptions): Sending {
  const threadId = chat.threadId.value;
  const forgetText = useKeptText(threadId, unsent.handed, writing.text);
  const kept = useAttachments(threadId);
  const { files } = kept.attachments;
  const [isGuarded, guard] = useState(false);
  const text = writing.text.value;
  const isEmpty = text.trim() === '' && files.length === 0;
  const open = chat.open.value;
  useEffect(() => {
    if (open === undefined) guard(false);
  }, [open]);
  const noteStored = (id: string, block: Block): void =>
    kept.set((now) => ({ ...now, files: now.files.map((each) => (each.id === id ? { ...each, block } : each)) }));
  const forgetSent = (): void => {
    writing.id = randomUuid();
    forgetText(text);
    unsent.isNoted.value = false;
    kept.forget(files);
  };
  const sendMessage = async (): Promise<void> => {
    const settled = await settledChoiceOf(chat);
    const request = reasonToChoose(settled) === undefined && takeOptions(settled.name);
    if (!request) return;
    const content = files.length === 0 ? text : [...textBlocks(text), ...(await blocksOf(files, noteStored))];
    await chat.start({ ...request, messages: [{ role: 'user', message_id: writing.id, content }] });
    noteOptionsSent();
    forgetSent();
  };
  const sendAnswer = async (): Promise<void> => {
    await chat.start({ messages: [], resume: { [chat.open.peek()?.answerable ?? '']: text } });
    forgetSent();
  };
  const send = async (way: Way): Promise<void> => {
    if (isEmpty || writing.isSending.peek()) return;
    const isGuarding = way === 'asks' && chat.open.peek() !== undefined;
    guard(isGuarding);
    if (isGuarding) return;
    writing.isSending.value = true;
    writing.error.value = undefined;
    const isTyping = document.activeElement === box.current;
    try {
      await (way === 'answer' ? sendAnswer() : sendMessage());
      // The button that was pressed has nothing to send any more.
      if (!isTyping && isLeft(document.activeElement)) box.current?.focus();
    } catch (thrown) {
      writing.error.value = thrown;
      throw thrown;
    } finally {
      writing.isSending.value = false;
    }
  };
  const begin = (way: Way): void => {
    chat.lifetime.during(() => send(way)).catch(() => undefined);
  };
  return { kept, isEmpty, isGuarded, unguard: () => guard(false), begin };
}

/** Whether the keyboard is where nothing can be done with it: nowhere, or at the button of an empty message. */
const isLeft = (active: Element | null): boolean =>
  active === document.body || active?.matches('.composer [type="submit"]') === true;
