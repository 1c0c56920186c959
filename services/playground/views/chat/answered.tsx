import { Fold } from '../../ui/fold.tsx';
import { digest } from '../../ui/json-start.ts';
import { JsonTree } from '../../ui/json-tree/json-tree.tsx';
import { Plain } from '../../ui/plain.tsx';
import { questionOf } from '../../ui/questions/question.ts';
import type { AnsweredQuestion } from './conversation.ts';

/** A question that was answered and its answer, in a line that opens to all of both. */
export function Answered({ interrupt, answer }: AnsweredQuestion) {
  const { node, text = `The node ${node} asked`, value } = questionOf(interrupt);
  return (
    <Fold
      class="answered"
      summary={
        <>
          Answered: {digest(text)} <span class="digest">{digest(answer)}</span>
        </>
      }
    >
      <Plain text={text} />
      {value !== undefined && <JsonTree label={`What else ${node} asked with`} value={value} />}
      {typeof answer === 'string' ? (
        <Plain text={answer} />
      ) : (
        <JsonTree label={`The answer to ${node}`} value={answer} />
      )}
    </Fold>
  );
}
