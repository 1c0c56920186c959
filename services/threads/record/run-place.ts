import type { Run } from '@agent-workflow/protos/threads';
import type { OwnRunRow, RunRow } from '../ports/lists.ts';
import { fromQuestions } from './json.ts';
import { toTitle } from './title.ts';

/** The nodes of one run that replies show. */
const shownNodes = 10;

type HeadOfRun = OwnRunRow['head'];

const isAwaited = ({ runId, status }: RunRow, { activeRun, interruptedRun }: HeadOfRun): boolean =>
  status === 'interrupted' && activeRun === undefined && interruptedRun === runId;

/** Where a run stands: the nodes that run or come next while it holds its thread, or at which its thread waits. None of any other run. */
export const nodesOf = (run: RunRow, head: HeadOfRun): readonly string[] =>
  head.activeRun === run.runId || isAwaited(run, head) ? head.next.slice(0, shownNodes) : [];

/** The first question that its thread waits to be answered, on one line; absent where it asks in no words. */
export function questionOf(run: RunRow, head: HeadOfRun): Pick<Run, 'question'> {
  if (!isAwaited(run, head)) return {};
  const [first] = fromQuestions(run.end?.interruptsJson);
  const question = first && 'value' in first ? wordsOf(first.value) : undefined;
  return question === undefined ? {} : { question };
}

/** What a node asks with is any JSON: a text, an object with `question`, or what only the agent's own pages can show. */
function wordsOf(value: unknown): string | undefined {
  if (typeof value === 'string') return toTitle(value);
  if (typeof value !== 'object' || value === null || !('question' in value)) return undefined;
  return typeof value.question === 'string' ? toTitle(value.question) : undefined;
}

/** How long a run took, or has taken so far, in milliseconds: from its start, or from its acceptance while no start is known. */
export const durationOf = ({ startedAt, createdAt, updatedAt, end }: RunRow, now: number): number =>
  Math.max(0, (end ? updatedAt : now) - (startedAt ?? createdAt));
