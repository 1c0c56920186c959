import type { Signal } from '@preact/signals';
import { useMemo, useState } from 'preact/hooks';
import { keepTyped } from '../../session/drafts.ts';
import { ErrorNote } from '../../ui/error-note.tsx';
import { useFaultFocus } from '../../ui/forms/fault-focus.ts';
import type { FormFaults } from '../../ui/forms/schema-form.ts';
import { checkAnswer, faultsLeft, firstAnswer, type Answer } from '../../ui/questions/answer.ts';
import { decisionsOf, type Choice, type Decisions } from '../../ui/questions/decisions.ts';
import { QuestionCard } from '../../ui/questions/question-card.tsx';
import { questionOf, type Question } from '../../ui/questions/question.ts';
import { toast } from '../../ui/toasts.tsx';
import type { Chat } from './chat.ts';
import { keysOf } from './opened.ts';
import type { RunState } from './run-state.ts';
import type { Answers } from './unsent.ts';

interface QuestionsProps {
  readonly chat: Chat;
  /** The run that asks. */
  readonly run: RunState;
  /** It outlives the form, which goes while another run of the thread is followed. */
  readonly answers: Signal<Answers>;
}

/** The open questions of the nodes, a card each: one form for all, of which some may be left open. */
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
  /** Reads these answers. @returns what they are by the ids of the questions; `undefined` where one is wrong, which is said at its field. */
  const read = async (given: readonly (readonly [Question, Answer])[]): Promise<object | undefined> => {
    const checked = await Promise.all(
      given.map(async ([question, answer]) => [question.id, await checkAnswer(question, answer)] as const),
    );
    const wrong = checked.flatMap(([id, each]) => ('errors' in each ? [[id, each.errors] as const] : []));
    setErrors(Object.fromEntries(wrong));
    if (wrong.length > 0) setRefusals(refusals + 1);
    if (wrong.length > 0 || checked.length === 0) return undefined;
    return Object.fromEntries(checked.map(([id, each]) => [id, 'value' in each ? each.value : null]));
  };
  const send = async (resume: object): Promise<void> => {
    await chat.start({ messages: [], resume });
    // Those that were left open are asked again by the run that this begins.
    const left = Object.entries(answers.value).filter(([id]) => !(id in resume));
    answers.value = Object.fromEntries(left.map(([id, answer]) => [id, { ...answer, isLeftOpen: false }]));
    keepTyped(keysOf(chat.threadId.peek()).answers, answers.value);
  };
  const doing = async (work: () => Promise<void>): Promise<void> => {
    if (isSending) return;
    setSending(true);
    setFailure(undefined);
    await work().catch(setFailure);
    setSending(false);
  };
  const decide = (question: Question, choice: Choice, { field }: Decisions): Promise<void> =>
    doing(() =>
      // It is sent also when its reader goes elsewhere meanwhile.
      chat.lifetime.during(async () => {
        const { texts, ...rest } = answerOf(question);
        const resume = await read([[question, { ...rest, texts: { ...texts, [field]: choice.json } }]]);
        if (resume && (choice.kind !== 'reject' || (await isKept(choice)))) await send(resume);
      }),
    );
  const typed = questions.filter((each) => decisionsOf(each) === undefined);
  const given = typed.map((each) => [each, answerOf(each)] as const).filter(([, answer]) => !answer.isLeftOpen);
  const sendAll = (): Promise<void> =>
    doing(async () => {
      const resume = await read(given);
      if (resume) await send(resume);
    });
  return (
    <form
      ref={form}
      class="asking"
      aria-label="Questions of the agent"
      onSubmit={(event) => {
        event.preventDefault();
        if (given.length > 0) void sendAll();
      }}
    >
      {questions.map((question) => (
        <QuestionCard
          key={question.id}
          question={question}
          isBusy={isSending}
          answer={answerOf(question)}
          errors={errors[question.id]}
          mayStayOpen={questions.length > 1 && typed.includes(question)}
          onAnswer={(answer) => onAnswer(question, answer)}
          onDecide={(...decision) => void decide(question, ...decision)}
        />
      ))}
      {failure !== undefined && chat.missing.value === undefined && <ErrorNote error={failure} />}
      {typed.length > 0 && (
        <div class="row">
          <button type="submit" aria-disabled={isSending} disabled={given.length === 0}>
            {typed.length > 1 ? 'Send the answers' : 'Send the answer'}
          </button>
        </div>
      )}
    </form>
  );
}

/** Resolves with whether a rejection is sent: it can be taken back for five seconds, and asks nothing before. */
function isKept({ label }: Choice): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  toast({ text: `${label}: sent in five seconds.`, undo: () => resolve(false), onGone: () => resolve(true) });
  return promise;
}
