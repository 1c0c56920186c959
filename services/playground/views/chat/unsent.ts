import { useSignal, type Signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { Typed } from '../../session/drafts.ts';
import { typedText, type Answer } from '../../ui/questions/answer.ts';
import type { Chat } from './chat.ts';
import { isUnderWay } from './run-state.ts';

/** What stands in the forms of questions, by their ids. */
export type Answers = Typed<Answer>;

/** What was typed as an answer and was not sent. */
export interface Unsent {
  /** The answers to the questions that may be open. */
  readonly answers: Signal<Answers>;
  /** What the box of the next message is to take, below what stands in it; empty when there is nothing. */
  readonly handed: Signal<string>;
  /** Whether the page shows that a question was answered elsewhere. */
  readonly isNoted: Signal<boolean>;
  /** Hands all that was typed to the box of the next message. */
  readonly handAll: () => void;
}

/** Keeps what is typed as answers. What belongs to a question that is no longer open goes to the box of the next message. */
export function useUnsent({ conversation: { run }, runs: { followed } }: Chat, answers: Signal<Answers>): Unsent {
  const handed = useSignal('');
  const isNoted = useSignal(false);
  const hand = (ids: readonly string[]): void => {
    const typed = answers.peek();
    const texts = ids.flatMap((id) => typedText(typed[id]));
    answers.value = Object.fromEntries(Object.entries(typed).filter(([id]) => !ids.includes(id)));
    if (texts.length > 0) handed.value = [handed.peek(), ...texts].filter((text) => text !== '').join('\n\n');
  };
  // While a run is followed it is not known what will be open.
  const isSettled = followed.value === undefined && run !== undefined && !isUnderWay(run.status);
  useEffect(() => {
    if (!isSettled) return;
    const open = new Set(run.interrupts?.map(({ id }) => id));
    const closed = Object.keys(answers.peek()).filter((id) => !open.has(id));
    if (closed.length === 0) return;
    hand(closed);
    isNoted.value ||= handed.peek() !== '';
  }, [isSettled, run]);
  return { answers, handed, isNoted, handAll: () => hand(Object.keys(answers.peek())) };
}
