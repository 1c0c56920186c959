import type { InboxItem, Question as ForeignQuestion } from '@agent-workflow/client';
import { questionOf, type Question } from '../../ui/questions/question.ts';

/** What waits for a person: a thread of their own, or a question of another owner's run. */
export interface Waiting {
  /** Its place in the inbox: the id of the thread, or of the question. */
  readonly id: string;
  /** Of another owner's run: for whom it is asked, and how many have answered it so far. */
  readonly others?: { readonly askedFor: string | null; readonly answers: number; readonly quorum: number };
  readonly threadId: string;
  /** What it asks: its first question, in words. */
  readonly title: string;
  /** What its conversation is called; absent where it has no name. */
  readonly threadTitle?: string;
  readonly agent: string | null;
  readonly runId: string | null;
  /** Milliseconds since 1970. */
  readonly since: number;
  /** When the first of its questions is answered without a person, in milliseconds since 1970; `Infinity` without a deadline. */
  readonly due: number;
  readonly questions: readonly Question[];
}

/** Reads an entry of the inbox. */
export function toWaiting(item: InboxItem): Waiting {
  const questions = item.interrupts.map(questionOf);
  const [first] = questions;
  const more = questions.length > 1 ? `, and ${String(questions.length - 1)} more` : '';
  return {
    id: item.thread_id,
    threadId: item.thread_id,
    title: first === undefined ? 'A question that is no longer on record' : `${wordsOf(first)}${more}`,
    ...(item.title !== null && { threadTitle: item.title }),
    ...{ agent: item.agent, runId: item.run_id, questions },
    since: Date.parse(item.waiting_since),
    due: Math.min(...questions.map(({ deadline }) => Date.parse(deadline ?? '')).filter(Number.isFinite)),
  };
}

/** Reads a question of another owner's run. */
export function toForeign(item: ForeignQuestion): Waiting {
  const { question_id: id, asked_for: askedFor, answers, quorum, deadline, masked = false } = item;
  const value = masked ? 'A question that admins read where that is noted' : item.value;
  const question = questionOf({
    ...{ id, node: item.node, value },
    ...(deadline !== undefined && { deadline }),
    ...(item.default !== undefined && { default: item.default }),
  });
  return {
    ...{ id, others: { askedFor, answers, quorum }, threadId: item.thread_id, runId: item.run_id },
    ...{ title: wordsOf(question), agent: item.agent, questions: [question] },
    since: Date.parse(item.asked_at),
    due: deadline === undefined ? Infinity : Date.parse(deadline),
  };
}

/** More characters of a question are no title. */
const maxWords = 200;

const wordsOf = ({ text, node }: Question): string => (text ?? `The node ${node} asks`).slice(0, maxWords);

interface WaitingGroup {
  readonly title: string;
  readonly items: readonly Waiting[];
}

const hour = 3_600_000;

/** What waits, by what is due first: within the hour, within a day, later, and what has no deadline; the oldest first among equals. */
export function groupsOf(waiting: readonly Waiting[], now: number): readonly WaitingGroup[] {
  const sorted = waiting.toSorted((one, other) =>
    one.due === other.due ? one.since - other.since : one.due - other.due,
  );
  const titleOf = ({ due }: Waiting): string => {
    if (due === Infinity) return 'No deadline';
    if (due - now <= hour) return 'Due within the hour';
    return due - now <= 24 * hour ? 'Due within a day' : 'Due later';
  };
  return [...Map.groupBy(sorted, titleOf)].map(([title, items]) => ({ title, items }));
}
