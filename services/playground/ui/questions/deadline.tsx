import { useEffect, useReducer } from 'preact/hooks';
import { serviceNow } from '../../session/clock.ts';
import { digest } from '../json-start.ts';
import { timeText } from '../time-text.ts';
import type { Question } from './question.ts';
import { timeLeft } from './time-left.ts';

/** How often the time that is left is told anew, in milliseconds. */
const everyMs = 1000;

/** Until when a question can be answered, and what happens then; nothing where it waits for any time. */
export function Deadline({ question: { deadline, fallback } }: { readonly question: Question }) {
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const left = timeLeft(deadline, serviceNow());
  useEffect(() => {
    if (deadline === undefined) return undefined;
    const timer = setInterval(() => redraw(undefined), everyMs);
    return () => clearInterval(timer);
  }, [deadline]);
  if (deadline === undefined || !left) return null;
  return (
    <p class="question-deadline">
      <time dateTime={deadline} title={timeText(deadline)} class={left.isSoon ? 'is-soon' : undefined}>
        {left.text}
      </time>
      <span class="hint">
        {fallback === undefined
          ? ', then the run goes on without an answer'
          : `, then the answer is ${digest(fallback)}`}
      </span>
    </p>
  );
}
