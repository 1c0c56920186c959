import type { Signal } from '@preact/signals';
import { useState } from 'preact/hooks';
import type { Typed } from '../../session/drafts.ts';
import { useKeys } from '../../session/keys.ts';
import { ErrorNote } from '../error-note.tsx';
import { useFaultFocus } from '../forms/fault-focus.ts';
import {
  checkAnswers,
  faultsLeft,
  firstAnswer,
  type Answer,
  type AnswerFaults,
  type GivenAnswer,
  type Resume,
} from './answer.ts';
import { decisionsOf, type Choice, type Decisions } from './decisions.ts';
import { QuestionCard } from './question-card.tsx';
import type { Question } from './question.ts';

interface QuestionFormProps {
  readonly questions: readonly Question[];
  /** What stands in its fields, by the ids of the questions. */
  readonly answers: Signal<Typed<Answer>>;
  /**
   * Sends what `read` gives, which is `undefined` where an answer is wrong: the form says so at its field. `choice` is the button that was
   * pressed, if one answers. What it throws stands below the questions.
   */
  readonly send: (read: () => Promise<Resume | undefined>, choice: Choice | undefined) => Promise<void>;
}

/** The open questions of a thread, a card each: one form for all, of which some may be left open. A goes to the first. */
export function QuestionForm({ questions, answers, send }: QuestionFormProps) {
  const [errors, setErrors] = useState<AnswerFaults>({});
  const [refusals, setRefusals] = useState(0);
  const [failure, setFailure] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const form = useFaultFocus<HTMLFormElement>(refusals);
  useKeys([{ keys: 'a', text: 'To the question', group: 'Questions', run: () => focusFirst(form.current) }]);
  const answerOf = (question: Question): Answer => answers.value[question.id] ?? firstAnswer(question);
  const onAnswer = (question: Question, given: Answer): void => {
    const faults = errors[question.id];
    if (faults) setErrors({ ...errors, [question.id]: faultsLeft(question, faults, answerOf(question), given) });
    answers.value = { ...answers.value, [question.id]: given };
  };
  const read = async (given: readonly GivenAnswer[]): Promise<Resume | undefined> => {
    const checked = await checkAnswers(given);
    setErrors('errors' in checked ? checked.errors : {});
    if ('resume' in checked) return checked.resume;
    setRefusals(refusals + 1);
    return undefined;
  };
  const sendThese = async (given: readonly GivenAnswer[], choice?: Choice): Promise<void> => {
    if (isBusy || given.length === 0) return;
    setBusy(true);
    setFailure(undefined);
    await send(() => read(given), choice).catch(setFailure);
    setBusy(false);
  };
  const decide = (question: Question, choice: Choice, { field }: Decisions): Promise<void> => {
    const { texts, ...rest } = answerOf(question);
    return sendThese([[question, { ...rest, texts: { ...texts, [field]: choice.json } }]], choice);
  };
  const typed = questions.filter((each) => each.to === undefined && decisionsOf(each) === undefined);
  const given = typed.map((each) => [each, answerOf(each)] as const).filter(([, answer]) => !answer.isLeftOpen);
  return (
    <form
      ref={form}
      class="asking"
      aria-label="Questions of the agent"
      onSubmit={(event) => {
        event.preventDefault();
        void sendThese(given);
      }}
    >
      {questions.map((question) => (
        <QuestionCard
          key={question.id}
          question={question}
          isBusy={isBusy}
          answer={answerOf(question)}
          errors={errors[question.id]}
          mayStayOpen={questions.length > 1 && typed.includes(question)}
          onAnswer={(answer) => onAnswer(question, answer)}
          onDecide={(...decision) => void decide(question, ...decision)}
        />
      ))}
      {failure !== undefined && <ErrorNote error={failure} />}
      {typed.length > 0 && (
        <div class="row">
          <button type="submit" aria-disabled={isBusy} disabled={given.length === 0}>
            {typed.length > 1 ? 'Send the answers' : 'Send the answer'}
          </button>
        </div>
      )}
    </form>
  );
}

/** Brings the keyboard to the first thing that can be filled in or pressed. Answers whether there is one. */
function focusFirst(form: HTMLFormElement | null): boolean {
  const first = form?.querySelector<HTMLElement>('input, textarea, select, .decisions button');
  first?.focus();
  return Boolean(first);
}
