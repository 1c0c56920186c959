import type { FilesQuery } from '@agent-workflow/client';

type Query = Readonly<Record<string, string>>;

interface Choice {
  readonly word: string;
  readonly text: string;
}

/** The words of the address that choose kinds of files. */
export const kindChoices: readonly (Choice & { readonly type: string })[] = [
  { word: 'image', text: 'Images', type: 'image/*' },
  { word: 'pdf', text: 'PDF', type: 'application/pdf' },
  { word: 'text', text: 'Texts', type: 'text/*' },
  { word: 'audio', text: 'Sound', type: 'audio/*' },
  { word: 'video', text: 'Films', type: 'video/*' },
];

/** The ranges that the page offers, by the number of days that end today. */
export const sentRanges: readonly Choice[] = [
  { word: '1', text: 'Today' },
  { word: '7', text: 'Last 7 days' },
  { word: '30', text: 'Last 30 days' },
  { word: '90', text: 'Last 90 days' },
];

const names = ['search', 'kind', 'days'] as const;

/** The parameters of an address that select files. */
export const fileSelectionOf = (query: Query): Query =>
  Object.fromEntries(names.flatMap((name) => (query[name] ? [[name, query[name]]] : [])));

/** What the service is asked for. @param now the reader's time in milliseconds since 1970 */
export function fileFilterOf({ search, kind, days }: Query, now: number): FilesQuery {
  const type = kindChoices.find(({ word }) => word === kind)?.type;
  const count = Number(days);
  const date = new Date(now);
  const isRange = Number.isInteger(count) && count >= 1 && count <= 366;
  return {
    ...(search && { search }),
    ...(type && { mime_type: type }),
    ...(isRange && { from: new Date(date.getFullYear(), date.getMonth(), date.getDate() - count + 1).toISOString() }),
  };
}
