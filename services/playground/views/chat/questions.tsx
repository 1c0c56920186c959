import type { Signal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { keepTyped } from '../../session/drafts.ts';
import { useRefresh } from '../../session/refresh.ts';
import type { Resume } from '../../ui/questions/answer.ts';
import type { Choice } from '../../ui/questions/decisions.ts';
import { QuestionForm } from '../../ui/questions/question-form.tsx';
import { questionOf } from '../../ui/questions/question.ts';
import { isKept } from '../../ui/questions/second-thought.ts';
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

/** How often a chat is read anew while others are to answer, in milliseconds. */
const readAgainMs = 3000;

/** The open questions of the nodes, whose answers begin the next run: also that which others begin. */
export function Questions({ chat, run: { interrupts = [] }, answers }: QuestionsProps) {
  const questions = useMemo(() => interrupts.map(questionOf), [interrupts]);
  const isForOthers = questions.some(({ to }) => to !== undefined);
  useRefresh(() => {
    // What cannot be read now is read the next time.
    if (isForOthers) void chat.catchUp().catch(() => undefined);
  }, readAgainMs);
  const start = async (resume: Resume): Promise<void> => {
    await chat.start({ messages: [], resume });
    // Those that were left open are asked again by the run that this begins.
    const left = Object.entries(answers.value).filter(([id]) => !(id in resume));
    answers.value = Object.fromEntries(left.map(([id, answer]) => [id, { ...answer, isLeftOpen: false }]));
    keepTyped(keysOf(chat.threadId.peek()).answers, answers.value);
  };
  const send = async (read: () => Promise<Resume | undefined>, choice: Choice | undefined): Promise<void> => {
    const resume = await read();
    if (resume && (choice?.kind !== 'reject' || (await isKept(`${choice.label}: sent in five seconds.`))))
      await start(resume);
  };
  return (
    <QuestionForm
      questions={questions}
      answers={answers}
      // It is sent also when its reader goes elsewhere meanwhile. That the thread is gone stands at the next message.
      send={(...given) =>
        chat.lifetime
          .during(() => send(...given))
          .catch((error: unknown) => {
            if (chat.thread.missing.peek() === undefined) throw error;
          })
      }
    />
  );
}
