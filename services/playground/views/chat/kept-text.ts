import type { Signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { useDraft, writeDraft } from '../../session/drafts.ts';
import { keysOf } from './opened.ts';

/**
 * Keeps the text that stands in the box of a thread until it is sent, and puts below it what is `handed` over.
 * @returns what takes the text out that was sent
 */
export function useKeptText(
  threadId: string | undefined,
  handed: Signal<string>,
  text: Signal<string>,
): (sent: string) => void {
  const key = keysOf(threadId).text;
  useDraft(key, text.value, () => text.peek());
  const given = handed.value;
  useEffect(() => {
    if (given === '') return;
    const now = text.peek();
    text.value = now.trim() === '' ? given : `${now}\n\n${given}`;
    handed.value = '';
  }, [given, handed, text]);
  /** What was typed after the text while it was sent stays. */
  return (sent) => {
    const now = text.peek();
    if (!now.startsWith(sent)) return;
    text.value = now.slice(sent.length).trimStart();
    // The first message gives the thread its id: the draft of the place without one goes too. So it does when the reader has left.
    writeDraft(key, text.peek());
  };
}
