import type { Thread, ThreadFilter, ThreadStatus } from '@agent-workflow/client';

type Query = Readonly<Record<string, string>>;

/** The words of the address that choose statuses of threads. */
export const threadStatusChoices: readonly {
  readonly word: string;
  readonly text: string;
  readonly statuses: readonly ThreadStatus[];
}[] = [
  { word: 'interrupted', text: 'Waiting', statuses: ['interrupted'] },
  { word: 'asking', text: 'Waiting for an answer', statuses: [] },
  { word: 'under-way', text: 'Under way', statuses: ['queued', 'running', 'sleeping'] },
  { word: 'failed', text: 'Failed', statuses: ['failed'] },
  { word: 'idle', text: 'Idle', statuses: ['idle'] },
];

/** The ranges that the page offers, by the number of days that end today. */
export const threadRanges: readonly { readonly word: string; readonly text: string }[] = [
  { word: '1', text: 'Today' },
  { word: '7', text: 'Last 7 days' },
  { word: '30', text: 'Last 30 days' },
  { word: '90', text: 'Last 90 days' },
];

const names = ['search', 'status', 'agent', 'days'] as const;

/** The parameters of an address that select threads. */
export const threadSelectionOf = (query: Query): Query =>
  Object.fromEntries(names.flatMap((name) => (query[name] ? [[name, query[name]]] : [])));

/** What the service is asked for. @param now the reader's time in milliseconds since 1970 */
export function threadFilterOf({ search, status, agent, days }: Query, now: number): ThreadFilter {
  const statuses = threadStatusChoices.find(({ word }) => word === status)?.statuses;
  const count = Number(days);
  const date = new Date(now);
  const isRange = Number.isInteger(count) && count >= 1 && count <= 366;
  return {
    ...(search && { search }),
    ...(agent && { agent }),
    ...(statuses && statuses.length > 0 && { status: statuses }),
    ...(status === 'asking' && { waits_for: 'answer' as const }),
    ...(isRange && {
      updated_from: new Date(date.getFullYear(), date.getMonth(), date.getDate() - count + 1).toISOString(),
    }),
  };
}

/** The saved filters that every reader has. */
export const givenThreadFilters = [
  { name: 'All', query: {} },
  { name: 'Waiting for an answer', query: { status: 'asking' } },
  { name: 'Failed, 7 days', query: { status: 'failed', days: '7' } },
] as const;

/** Why a thread stands where it stands; nothing of one at rest. */
export function whyOfThread({ status, waits_for: waitsFor }: Partial<Thread>): string | undefined {
  if (status === 'interrupted') return waitsFor === 'tool_results' ? 'waits for tools' : 'waits for an answer';
  if (status === 'failed') return 'the last run failed';
  return status === undefined || status === 'idle' ? undefined : status;
}
