import { useState } from 'preact/hooks';
import { useKeys } from '../../session/keys.ts';
import { useFaultFocus } from '../../ui/forms/fault-focus.ts';
import type { FormFaults } from '../../ui/forms/schema-form.ts';
import { checkAnswer, faultsLeft, firstAnswer, type Answer } from '../../ui/questions/answer.ts';
import { decisionsOf, type Choice, type Decisions } from '../../ui/questions/decisions.ts';
import { QuestionCard } from '../../ui/questions/question-card.tsx';
import type { Question } from '../../ui/questions/question.ts';
import type { Resume } from './verdicts.ts';

interface AnswerFormProps {
  readonly questions: readonly Question[];
  /** Sends answers by the ids of their questions. It never throws: who sends says what failed. */
  readonly onSend: (resume: Resume) => Promise<void>;
  /** The same for a rejection, which can be taken back. */
  readonly onReject: (resume: Resume) => void;
}

/** The questions of a thread, a card each; some may be left open. */
export function AnswerForm({ questions, onSend, onReject }: AnswerFormProps) {
  const [answers, setAnswers] = useState<Readonly<Record<string, Answer>>>({});
  const [errors, setErrors] = useState<Readonly<Record<string, FormFaults>>>({});
  const [refusals, setRefusals] = useState(0);
  const [isBusy, setBusy] = useState(false);
  const form = useFaultFocus<HTMLFormElement>(refusals);
  const answerOf = (question: Question): Answer => answers[question.id] ?? firstAnswer(question);
  const onAnswer = (question: Question, given: Answer): void => {
    const faults = errors[question.id];
    if (faults) setErrors({ ...errors, [question.id]: faultsLeft(question, faults, answerOf(question), given) });
    setAnswers({ ...answers, [question.id]: given });
  };
  const read = async (given: readonly (readonly [Question, Answer])[]): Promise<Resume | undefined> => {
    const checked = await Promise.all(
      given.map(async ([each, its]) => [each.id, await checkAnswer(each, its)] as const),
    );
    const wrong = checked.flatMap(([id, each]) => ('errors' in each ? [[id, each.errors] as const] : []));
    setErrors(Object.fromEntries(wrong));
    if (wrong.length > 0) setRefusals(refusals + 1);
    if (wrong.length > 0 || checked.length === 0) return undefined;
    return Object.fromEntries(checked.map(([id, each]) => [id, 'value' in each ? each.value : null]));
  };
  const send = async (resume: Resume | undefined): Promise<void> => {
    if (!resume || isBusy) return;
    setBusy(true);
    await onSend(resume);
    setBusy(false);
  };
  const decide = async (question: Question, choice: Choice, { field }: Decisions): Promise<void> => {
    const { texts, ...rest } = answerOf(question);
    const resume = await read([[question, { ...rest, texts: { ...texts, [field]: choice.json } }]]);
    if (choice.kind === 'reject' && resume) onReject(resume);
    else await send(resume);
  };
  const typed = questions.filter((each) => decisionsOf(each) === undefined);
  const given = typed.map((each) => [each, answerOf(each)] as const).filter(([, its]) => !its.isLeftOpen);
  useKeys([
    {
      ...{ keys: 'a', text: 'To the question', group: 'Inbox' },
      run: () => {
        const first = form.current?.querySelector<HTMLElement>('input, textarea, select, button');
        first?.focus();
        return first !== null;
      },
    },
  ]);
  return (
    <form
      ref={form}
      class="asking"
      aria-label="Questions of the agent"
      onSubmit={(event) => {
        event.preventDefault();
        if (given.length > 0) void read(given).then(send);
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
          onAnswer={(its) => onAnswer(question, its)}
          onDecide={(...decision) => void decide(question, ...decision)}
        />
      ))}
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
