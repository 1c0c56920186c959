import { digest } from '../../ui/json-start.ts';
import { JsonView } from '../../ui/json-view.tsx';
import { Plain } from '../../ui/plain.tsx';
import { questionOf } from '../../ui/questions/question.ts';
import type { AnsweredQuestion } from './conversation.ts';

/** A question that was answered and its answer, in a line that opens to all of both. */
export function Answered({ interrupt, answer }: AnsweredQuestion) {
  const { node, text = `The node ${node} asked`, value } = questionOf(interrupt);
  return (
    <details class="fold answered">
      <summary>
        Answered: {digest(text)} <span class="digest">{digest(answer)}</span>
      </summary>
      <Plain text={text} />
      {value !== undefined && <JsonView label={`What else ${node} asked with`} value={value} />}
      {typeof answer === 'string' ? (
        <Plain text={answer} />
      ) : (
        <JsonView label={`The answer to ${node}`} value={answer} />
      )}
    </details>
  );
}
