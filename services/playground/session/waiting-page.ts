import type { InboxItem, Question } from '@agent-workflow/client';
import { areForOthers } from './for-others.ts';
import { client } from './session.ts';

/** Threads of a page, and questions of other owners on the first one. */
export const waitingAtOnce = 100;

interface WaitingPage {
  /** Threads of the reader. */
  readonly own: readonly InboxItem[];
  /** Of runs of other owners. */
  readonly foreign: readonly Question[];
  /** Of the next threads. */
  readonly cursor: string | undefined;
  /** Whether there are more threads or questions. */
  readonly hasMore: boolean;
}

/** What waits for the reader: neither a thread that others answer, nor a question that the reader has answered. */
export async function readWaiting(cursor: string | undefined, signal: AbortSignal): Promise<WaitingPage> {
  const [page, others] = await Promise.all([
    client.threads.inbox({ limit: waitingAtOnce, ...(cursor !== undefined && { cursor }) }, { signal }),
    cursor === undefined ? client.questions.list({ limit: waitingAtOnce, sort: 'deadline' }, { signal }) : undefined,
  ]);
  return {
    own: page.items.filter(({ interrupts }) => !areForOthers(interrupts)),
    foreign: others?.questions.filter(({ answered }) => !answered) ?? [],
    cursor: page.cursor,
    hasMore: page.cursor !== undefined || others?.cursor !== undefined,
  };
}
