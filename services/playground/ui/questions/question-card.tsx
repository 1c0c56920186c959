import { useId } from 'preact/hooks';
import { SchemaFields } from '../forms/schema-fields.tsx';
import { bareField, type FormFaults } from '../forms/schema-form.ts';
import { digest } from '../json-start.ts';
import { JsonTree } from '../json-tree/json-tree.tsx';
import { Plain } from '../plain.tsx';
import type { Answer } from './answer.ts';
import { decisionsOf, type Choice, type Decisions } from './decisions.ts';
import { Deadline } from './deadline.tsx';
import { factsOf } from './facts.ts';
import type { Question } from './question.ts';

interface QuestionCardProps {
  readonly question: Question;
  readonly answer: Answer;
  /** What is wrong with the answer, by the names of the fields. */
  readonly errors: FormFaults | undefined;
  /** Whether it may be left open, because others are asked beside it. */
  readonly mayStayOpen: boolean;
  readonly isBusy: boolean;
  readonly onAnswer: (answer: Answer) => void;
  /** A button was pressed that answers the question with what it says, and with what stands in the other fields. */
  readonly onDecide: (choice: Choice, decisions: Decisions) => void;
}

/** The name of a group is no longer; what is asked then stands below. */
const maxLegend = 1000;

/** A question of an agent: what is asked, with which facts, until when, and the buttons or the fields of its answer. */
export function QuestionCard({ question, answer, errors, mayStayOpen, isBusy, ...on }: QuestionCardProps) {
  const { node, text, form, to } = question;
  const isOpenHere = to === undefined && !answer.isLeftOpen;
  const decisions = to === undefined ? decisionsOf(question) : undefined;
  const isLong = text !== undefined && text.length > maxLegend;
  const typed = form && { ...form, fields: form.fields.filter(({ name }) => name !== decisions?.field) };
  const approving = decisions?.choices.find(({ kind }) => kind === 'approve');
  /** Ctrl+Enter, or ⌘+Enter, approves. */
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || !decisions || !approving) return;
    event.preventDefault();
    on.onDecide(approving, decisions);
  };
  return (
    <fieldset class="question" onKeyDown={onKeyDown}>
      <legend dir="auto">{isLong ? digest(text) : (text ?? `The node ${node} asks`)}</legend>
      <Deadline question={question} />
      {isLong && <Plain text={text} />}
      <Asked question={question} />
      {to !== undefined && <p class="hint">{`Waits for an answer of ${to.join(' or ')}.`}</p>}
      {isOpenHere && typed && typed.fields.length > 0 && (
        <SchemaFields
          {...{ form: typed, errors }}
          texts={answer.texts}
          onChange={(texts) => on.onAnswer({ ...answer, texts })}
        />
      )}
      {isOpenHere && !form && <FreeAnswer {...{ answer, errors, node }} onAnswer={on.onAnswer} />}
      {decisions && (
        <div class="decisions">
          {decisions.choices.map((choice) => (
            <button
              key={choice.json}
              type="button"
              class={choice.kind === 'approve' ? 'button-first' : undefined}
              aria-disabled={isBusy}
              onClick={() => on.onDecide(choice, decisions)}
            >
              {choice.label}
            </button>
          ))}
        </div>
      )}
      {mayStayOpen && (
        <label class="check">
          <input
            type="checkbox"
            checked={answer.isLeftOpen}
            onChange={(event) => on.onAnswer({ ...answer, isLeftOpen: event.currentTarget.checked })}
          />
          Leave this question open
        </label>
      )}
    </fieldset>
  );
}

/** What else the node asks with. */
function Asked({ question: { node, value } }: { readonly question: Question }) {
  const { pairs, rest } = factsOf(value);
  return (
    <>
      {pairs.length > 0 && (
        <dl class="question-facts">
          {pairs.map(([name, text]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd dir="auto">{text}</dd>
            </div>
          ))}
        </dl>
      )}
      {rest !== undefined && <JsonTree label={`What else ${node} asks with`} value={rest} />}
    </>
  );
}

interface FreeAnswerProps {
  readonly answer: Answer;
  readonly errors: FormFaults | undefined;
  readonly node: string;
  readonly onAnswer: (answer: Answer) => void;
}

function FreeAnswer({ answer, errors, onAnswer, node }: FreeAnswerProps) {
  const wrong = errors?.[bareField];
  const help = useId();
  return (
    <div class="row">
      <label class="grow">
        Answer to {node}
        <textarea
          rows={2}
          dir="auto"
          aria-invalid={wrong !== undefined}
          {...(wrong !== undefined && { 'aria-describedby': help })}
          value={answer.texts[bareField] ?? ''}
          onInput={(event) => onAnswer({ ...answer, texts: { [bareField]: event.currentTarget.value } })}
        />
      </label>
      <label>
        Sent as
        <select
          value={answer.as}
          onChange={(event) => onAnswer({ ...answer, as: event.currentTarget.value as Answer['as'] })}
        >
          <option value="text">Text</option>
          <option value="json">JSON</option>
        </select>
      </label>
      {wrong !== undefined && (
        <p class="wrong" role="alert" id={help}>
          The answer {wrong}
        </p>
      )}
    </div>
  );
}
