import type { Signal } from '@preact/signals';
import { useId, useMemo, useState } from 'preact/hooks';
import { keepTyped } from '../../session/drafts.ts';
import { ErrorNote } from '../../ui/error-note.tsx';
import { SchemaFields } from '../../ui/forms/schema-fields.tsx';
import { useFaultFocus } from '../../ui/forms/fault-focus.ts';
import { bareField, type FormFaults } from '../../ui/forms/schema-form.ts';
import { digest } from '../../ui/json-start.ts';
import { JsonView } from '../../ui/json-view.tsx';
import { Plain } from '../../ui/plain.tsx';
import { checkAnswer, faultsLeft, firstAnswer, type Answer } from './answer.ts';
import type { Chat } from './chat.ts';
import type { RunState } from './conversation.ts';
import { keysOf } from './opened.ts';
import { questionOf, type Question } from './question.ts';
import type { Answers } from './unsent.ts';

interface QuestionsProps {
  readonly chat: Chat;
  /** The run that asks. */
  readonly run: RunState;
  /** It outlives the form, which goes while another run of the thread is followed. */
  readonly answers: Signal<Answers>;
}

/** The open questions of the nodes: one form for all, of which some may be left open. */
export function Questions({ chat, run: { interrupts = [] }, answers }: QuestionsProps) {
  const questions = useMemo(() => interrupts.map(questionOf), [interrupts]);
  const [errors, setErrors] = useState<Readonly<Record<string, FormFaults>>>({});
  const [refusals, setRefusals] = useState(0);
  const [failure, setFailure] = useState<unknown>();
  const [isSending, setSending] = useState(false);
  const form = useFaultFocus<HTMLFormElement>(refusals);
  const answerOf = (question: Question): Answer => answers.value[question.id] ?? firstAnswer(question);
  const onAnswer = (question: Question, answer: Answer): void => {
    const faults = errors[question.id];
    if (faults) setErrors({ ...errors, [question.id]: faultsLeft(question, faults, answerOf(question), answer) });
    answers.value = { ...answers.value, [question.id]: answer };
  };
  const send = async (): Promise<void> => {
    const given = await Promise.all(
      questions
        .filter((each) => !answerOf(each).isLeftOpen)
        .map(async (each) => [each.id, await checkAnswer(each, answerOf(each))] as const),
    );
    const wrong = given.flatMap(([id, read]) => ('errors' in read ? [[id, read.errors] as const] : []));
    setErrors(Object.fromEntries(wrong));
    if (wrong.length > 0) setRefusals(refusals + 1);
    if (wrong.length > 0 || given.length === 0) return;
    const resume = Object.fromEntries(given.map(([id, read]) => [id, 'value' in read ? read.value : null]));
    await chat.start({ messages: [], resume });
    // Those that were left open are asked again by the run that this begins.
    const left = Object.entries(answers.value).filter(([id]) => !(id in resume));
    answers.value = Object.fromEntries(left.map(([id, answer]) => [id, { ...answer, isLeftOpen: false }]));
    keepTyped(keysOf(chat.threadId.peek()).answers, answers.value);
  };
  const onSubmit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (isSending) return;
    setSending(true);
    setFailure(undefined);
    await send().catch(setFailure);
    setSending(false);
  };
  return (
    <form
      ref={form}
      class="asking stack"
      aria-label="Questions of the agent"
      onSubmit={(event) => void onSubmit(event)}
    >
      {questions.map((question) => (
        <OneQuestion
          key={question.id}
          question={question}
          answer={answerOf(question)}
          errors={errors[question.id]}
          mayStayOpen={questions.length > 1}
          onAnswer={(answer) => onAnswer(question, answer)}
        />
      ))}
      {failure !== undefined && chat.missing.value === undefined && <ErrorNote error={failure} />}
      <div class="row">
        <button type="submit" aria-disabled={isSending} disabled={questions.every((each) => answerOf(each).isLeftOpen)}>
          {questions.length > 1 ? 'Send the answers' : 'Send the answer'}
        </button>
      </div>
    </form>
  );
}

/** The name of a group is no longer; what is asked then stands below. */
const maxLegend = 1000;

interface OneQuestionProps {
  readonly question: Question;
  readonly answer: Answer;
  readonly errors: FormFaults | undefined;
  readonly mayStayOpen: boolean;
  readonly onAnswer: (answer: Answer) => void;
}

function OneQuestion({ question, answer, errors, mayStayOpen, onAnswer }: OneQuestionProps) {
  const { node, text, value, form } = question;
  const isLong = text !== undefined && text.length > maxLegend;
  return (
    <fieldset class="stack">
      <legend>{isLong ? digest(text) : (text ?? `The node ${node} asks`)}</legend>
      {isLong && <Plain text={text} />}
      {value !== undefined && <JsonView label={`What else ${node} asks with`} value={value} />}
      {!answer.isLeftOpen && form && (
        <SchemaFields {...{ form, errors }} texts={answer.texts} onChange={(texts) => onAnswer({ ...answer, texts })} />
      )}
      {!answer.isLeftOpen && !form && <FreeAnswer {...{ answer, errors, onAnswer, node }} />}
      {mayStayOpen && (
        <label class="check">
          <input
            type="checkbox"
            checked={answer.isLeftOpen}
            onChange={(event) => onAnswer({ ...answer, isLeftOpen: event.currentTarget.checked })}
          />
          Leave this question open
        </label>
      )}
    </fieldset>
  );
}

function FreeAnswer({
  answer,
  errors,
  onAnswer,
  node,
}: Omit<OneQuestionProps, 'question' | 'mayStayOpen'> & { readonly node: string }) {
  const wrong = errors?.[bareField];
  const help = useId();
  return (
    <div class="row">
      <label class="grow">
        Answer to {node}
        <textarea
          rows={2}
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
