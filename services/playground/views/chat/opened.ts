import { randomUuid } from '@agent-workflow/kit/uuid';
import { signal, type Signal } from '@preact/signals';
import { keepTyped, readDraft, typedIn, writeDraft, type Typed } from '../../session/drafts.ts';
import { token } from '../../session/session.ts';
import { loadMarkdown } from '../../ui/markdown/markdown.tsx';
import type { Answer } from '../../ui/questions/answer.ts';
import { Chat } from './chat.ts';
import { ownThreads } from './chat-source.ts';
import { createForking, type Forking } from './forking.ts';

/** The message that is being written in a chat, and the state of its sending. */
export interface Writing {
  readonly text: Signal<string>;
  readonly isSending: Signal<boolean>;
  /** Why the last attempt failed. */
  readonly error: Signal<unknown>;
  /** The id that the message will have. */
  id: string;
}

/** A thread that is open, what is typed in it, and the token that it was opened with. All of it outlives its view while something is sent. */
export interface Opened {
  readonly chat: Chat;
  readonly forking: Forking;
  readonly writing: Writing;
  /** What stands in the forms of questions, by their ids. */
  readonly answers: Signal<Typed<Answer>>;
  /** The results that are typed for calls of tools, by the ids of the calls. */
  readonly results: Signal<Typed<string>>;
  readonly token: string;
}

/** The keys under which a tab keeps what is typed in a thread. */
export const keysOf = (threadId = '') => ({
  text: `draft ${threadId}`,
  answers: `answers ${threadId}`,
  results: `results ${threadId}`,
});

/** Chats that were left while they sent something. */
const left = new Set<Opened>();

/** Why what was being sent in chats that were left was refused, by the keys of their texts: for the reader who comes back. */
const refusals = new Map<string, unknown>();

// What one reader sends does not go on under the name of another.
token.subscribe((now) => {
  for (const { chat, token: own } of left) if (own !== now) chat.lifetime.end();
  refusals.clear();
});

/** Opens a thread, or the place where one begins. One that was left while it sent something is still open. */
export function openChat(id: string | undefined, run: string | undefined, source = ownThreads): Opened {
  for (const each of left) {
    const { lifetime, threadId } = each.chat;
    if (each.chat.source.view !== source.view || threadId.peek() !== id || !lifetime.rejoin()) continue;
    left.delete(each);
    const missed = lifetime.takeMissed();
    each.writing.error.value ??= missed;
    return each;
  }
  if (id !== undefined) loadMarkdown();
  const chat = new Chat(id, run, source);
  const keys = keysOf(id);
  const refusal = refusals.get(keys.text);
  refusals.delete(keys.text);
  return {
    chat,
    forking: createForking(chat),
    writing: {
      text: signal(readDraft(keys.text)),
      isSending: signal(false),
      error: signal(refusal),
      id: randomUuid(),
    },
    answers: signal(typedIn<Answer>(readDraft(keys.answers))),
    results: signal(typedIn<string>(readDraft(keys.results))),
    token: token.peek(),
  };
}

/** Leaves a chat. What it is sending is sent, unless another reader has come. What is typed in it is kept before another one is opened in its place. */
export function leaveChat(opened: Opened): void {
  const { lifetime, threadId } = opened.chat;
  const keys = keysOf(threadId.peek());
  writeDraft(keys.text, opened.writing.text.peek());
  keepTyped(keys.answers, opened.answers.peek());
  keepTyped(keys.results, opened.results.peek());
  if (opened.token !== token.peek()) {
    lifetime.end();
    return;
  }
  left.add(opened);
  lifetime.signal.addEventListener('abort', () => closeLeft(opened), { once: true });
  lifetime.leave();
}

/** A chat that was left has ended. What it sent last may have been refused: then its text is a draft, and the reason is kept beside it. */
function closeLeft(opened: Opened): void {
  const { lifetime, threadId } = opened.chat;
  const refusal = lifetime.takeMissed();
  // Another reader does not get it, and one who has come back and left again has seen it.
  if (left.delete(opened) && refusal !== undefined) refusals.set(keysOf(threadId.peek()).text, refusal);
}
