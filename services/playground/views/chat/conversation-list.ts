import type { Interrupt, Thread } from '@agent-workflow/client';
import { digest } from '../../ui/json-start.ts';
import { areForOthers } from '../../session/for-others.ts';
import { questionOf } from '../../ui/questions/question.ts';

/** A thread as the list of chats shows it. */
export type ListedThread = Partial<Thread> &
  Pick<Thread, 'thread_id'> & {
    /** Its open questions. */
    readonly interrupts?: readonly Interrupt[];
  };

/** Threads under one heading. */
interface Group {
  readonly title: string;
  readonly threads: readonly ListedThread[];
}

const dayMs = 86_400_000;

/** Groups the threads of a list, the newest first: what waits for the reader, what waits for others, then by the day of the last change. */
export function groupsOf(threads: readonly ListedThread[], now: number): readonly Group[] {
  const midnight = new Date(now).setHours(0, 0, 0, 0);
  const groups = new Map<string, ListedThread[]>(titles.map((title) => [title, []]));
  for (const thread of threads) groups.get(titleOf(thread, midnight))?.push(thread);
  return [...groups].flatMap(([title, held]) => (held.length === 0 ? [] : [{ title, threads: held }]));
}

const titles = ['Waiting for you', 'Waiting for others', 'Today', 'Yesterday', 'Last seven days', 'Earlier'] as const;

function titleOf({ status, interrupts = [], updated_at: at }: ListedThread, midnight: number): (typeof titles)[number] {
  if (status === 'interrupted') return areForOthers(interrupts) ? 'Waiting for others' : 'Waiting for you';
  const time = Date.parse(at ?? '');
  if (time >= midnight) return 'Today';
  if (time >= midnight - dayMs) return 'Yesterday';
  return time >= midnight - 6 * dayMs ? 'Last seven days' : 'Earlier';
}

/** What a chat is called in the list: its name, else the title that the service gives it, else that it has none. */
export function chatTitle({ thread_name: name, title }: ListedThread): string {
  const text = [name, title].find((each) => typeof each === 'string' && each.trim() !== '');
  return typeof text === 'string' ? text : 'Untitled chat';
}

const causes: Readonly<Record<string, string>> = {
  failed: 'The last run failed',
  running: 'Running',
  queued: 'Waits for a worker',
  sleeping: 'Sleeping',
};

/** Why a chat stands where it stands: its question, or what became of its run; `undefined` for one in which nothing happens. */
export function whyListed({ status, waits_for: waitsFor, interrupts = [] }: ListedThread): string | undefined {
  if (status !== 'interrupted') return causes[status ?? ''];
  if (waitsFor === 'tool_results') return 'Waits for the result of a tool';
  const [first] = interrupts;
  return first ? digest(questionOf(first).text ?? `${first.node} asks`) : 'Asks you something';
}

/**
 * The list with its first page read anew: that page, then what was listed behind it. A thread that should stand on the page and does not
 * is gone.
 */
export function withFirstPage(
  listed: readonly ListedThread[],
  page: readonly ListedThread[],
  isWhole: boolean,
): readonly ListedThread[] {
  if (isWhole) return page;
  const ids = new Set(page.map(({ thread_id: id }) => id));
  const last = page.at(-1)?.updated_at ?? '';
  return [...page, ...listed.filter(({ thread_id: id, updated_at: at }) => !ids.has(id) && (at ?? '') < last)];
}
