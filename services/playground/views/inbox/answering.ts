import { signal } from '@preact/signals';
import { client } from '../../session/session.ts';
import type { Resume } from '../../ui/questions/answer.ts';
import { isKept } from '../../ui/questions/second-thought.ts';
import { toast } from '../../ui/toasts.tsx';
import { faultOf } from '../../session/fault.ts';
import type { Waiting } from './waiting.ts';

/** Threads whose questions are answered, or about to be: they are not listed while the service may still list them. */
const answered = signal<ReadonlySet<string>>(new Set());

const keyOf = ({ id, runId }: Waiting): string => JSON.stringify([id, runId]);

export const isAnswered = (waiting: Waiting): boolean => answered.value.has(keyOf(waiting));

/** How long a failure to answer is said, in milliseconds. */
const failureMs = 15_000;

/** Answers the questions of a thread: a run of it goes on. What cannot be sent comes back into the inbox. */
export async function answer(waiting: Waiting, resume: Resume): Promise<void> {
  hide(waiting);
  try {
    await (waiting.others ? answerForeign(waiting, resume) : answerOwn(waiting, resume));
  } catch (error) {
    show(waiting);
    toast({ text: `Not answered: ${waiting.title}. ${faultOf(error).what}`, ms: failureMs });
  }
}

const answerOwn = ({ threadId }: Waiting, resume: Resume): Promise<unknown> =>
  client.runs.start({ messages: [], resume, config: { thread_id: threadId } });

/** Says what became of it where that is not the end of the question. */
async function answerForeign({ id }: Waiting, resume: Resume): Promise<void> {
  const { status, answers, quorum } = await client.questions.answer(id, resume[id]);
  if (status === 'waiting') toast({ text: `Answered: ${String(answers)} of ${String(quorum)} answers are there.` });
  if (status === 'differs') toast({ text: 'The answers differ: the run goes on without one.', ms: failureMs });
}

/** Answers as `answer` does, after five seconds in which it can be taken back. */
export async function answerLater(waitings: readonly (readonly [Waiting, Resume])[], text: string): Promise<void> {
  for (const [waiting] of waitings) hide(waiting);
  if (await isKept(text)) await answerAll(waitings);
  else for (const [waiting] of waitings) show(waiting);
}

/** Answers one after the other. */
export async function answerAll(waitings: readonly (readonly [Waiting, Resume])[]): Promise<void> {
  for (const [waiting] of waitings) hide(waiting);
  for (const [waiting, resume] of waitings) await answer(waiting, resume);
}

function hide(waiting: Waiting): void {
  answered.value = new Set([...answered.peek(), keyOf(waiting)]);
}

function show(waiting: Waiting): void {
  answered.value = new Set([...answered.peek()].filter((key) => key !== keyOf(waiting)));
}
