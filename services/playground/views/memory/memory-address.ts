import type { JsonObject, MemoryQuery, MemorySelection } from '@agent-workflow/client';
import { readNumber, readObjectIfAny, type Read } from '../../ui/boxes.ts';
import { memoryTypes, metrics, nameIn, namesOf, strategies, type Metric, type Strategy } from './memory-shapes.ts';

type Query = Readonly<Record<string, string>>;

/** How many memories a search finds at most, unless the address says another number. */
export const usualLimit = 50;

/** The most that a search gives. */
export const mostFound = 1000;

/** More tokens than a reply has room for: all that is found is shown, however long it is. */
const maxTokens = 1_000_000_000;

/** What the address selects of the memories. */
export interface MemoryPlace {
  /** What is searched for; empty for the list of all. */
  readonly search: string;
  /** What narrows the list and the search. */
  readonly selection: MemorySelection;
  readonly strategy: Strategy;
  readonly metric: Metric;
  /** What stands side by side, where searches are compared. */
  readonly compared: 'strategies' | 'metrics' | undefined;
  readonly limit: number;
  /** The least score of a result, from 0 to 1. */
  readonly least: number;
  readonly options: JsonObject | undefined;
}

/** What is wrong with an address or a form, by the names of its parameters. */
export type Faults = Readonly<Record<string, string>>;

const names = [
  ...(['search', 'scope', 'type', 'category', 'thread', 'filters'] as const),
  ...(['by', 'metric', 'compare', 'limit', 'least', 'options'] as const),
];

/** The parameters of an address that say which memories are shown. */
export const memorySelectionOf = (query: Query): Query =>
  Object.fromEntries(names.flatMap((name) => (query[name] ? [[name, query[name]]] : [])));

/** Reads an address, or the boxes of the form that makes one. All that is wrong is named. */
export function readMemoryPlace(query: Query): { readonly value: MemoryPlace } | { readonly faults: Faults } {
  const limit = readNumber('Limit', query['limit'] ?? '', { least: 1, most: mostFound });
  const least = readNumber('Least score', query['least'] ?? '', { least: 0, most: 1 });
  const filters = readObjectIfAny('Metadata', query['filters'] ?? '');
  const options = readObjectIfAny('Options', query['options'] ?? '');
  const type = readName('type of memory', memoryTypes, query['type']);
  const by = readName('strategy', strategies, query['by']);
  const metric = readName('metric', metrics, query['metric']);
  const reads = { limit, least, filters, options, type, by, metric };
  const faults = Object.entries(reads).flatMap(([name, read]) => ('fault' in read ? [[name, read.fault]] : []));
  if (faults.length > 0) return { faults: Object.fromEntries(faults) as Faults };
  const { search = '', compare } = query;
  const scope = query['scope']?.trim() ?? '';
  return {
    value: {
      search: search.trim(),
      selection: {
        ...(scope !== '' && scope !== 'own' && { scope }),
        ...(valueOf(type) && { memory_type: valueOf(type) }),
        ...(query['category'] && { category: query['category'] }),
        ...(Object.keys(valueOf(filters) ?? {}).length > 0 && { filters: valueOf(filters) }),
        ...(query['thread']?.trim() && { config: { thread_id: query['thread'].trim() } }),
      } as MemorySelection,
      strategy: valueOf(by) ?? 'hybrid',
      metric: valueOf(metric) ?? 'cosine',
      compared: compare === 'strategies' || compare === 'metrics' ? compare : undefined,
      limit: Math.floor(valueOf(limit) ?? usualLimit),
      least: valueOf(least) ?? 0,
      options: valueOf(options),
    },
  };
}

const valueOf = <T>(read: Read<T>): T | undefined => ('value' in read ? read.value : undefined);

function readName<K extends string>(
  what: string,
  list: Readonly<Record<K, unknown>>,
  text: string | undefined,
): Read<K | undefined> {
  if (text === undefined || text === '') return { value: undefined };
  const name = nameIn(list, text);
  return name === undefined ? { fault: `There is no ${what} “${text.slice(0, 40)}”` } : { value: name };
}

/** The search of a place, by its strategy or by another one. */
export function searchOf(place: MemoryPlace, other: Partial<MemoryPlace> = {}): MemoryQuery {
  const { search, selection, strategy, metric, limit, least, options } = { ...place, ...other };
  const { scope, ...conditions } = selection;
  return {
    ...conditions,
    ...(scope !== undefined && { scopes: [scope] }),
    ...{ query: search, limit, max_tokens: maxTokens, retrieval_strategy: strategy, distance_metric: metric },
    ...(least > 0 && { score_threshold: least }),
    ...(options && { options }),
  };
}

/** One of the searches that stand side by side. */
export interface ComparedSearch {
  /** The parameters of the address that shows this search by itself. */
  readonly query: Query;
  readonly title: string;
  readonly hint: string;
  readonly place: MemoryPlace;
}

/** The most that each of the searches side by side finds. */
const mostCompared = 100;

/** The searches that are compared: one a strategy by the metric of the place, or one a metric by its strategy. */
export function comparedOf(given: MemoryPlace): readonly ComparedSearch[] {
  const place = { ...given, limit: Math.min(given.limit, mostCompared) };
  if (place.compared === 'metrics')
    return namesOf(metrics).map((metric) => ({
      ...{ query: { metric }, title: metric, hint: metrics[metric], place: { ...place, metric } },
    }));
  return namesOf(strategies).map((strategy) => ({
    ...{ query: { by: strategy }, title: strategies[strategy].title, hint: strategies[strategy].found },
    place: { ...place, strategy },
  }));
}

/** What the address selects beside kind and text, each with the words of its filter. */
export function furtherFilters(query: Query): readonly { readonly name: string; readonly text: string }[] {
  const words: Readonly<Record<string, (value: string) => string>> = {
    scope: (value) => `scope ${value}`,
    category: (value) => `in ${value}`,
    thread: (value) => `of thread ${value}`,
    filters: (value) => `metadata ${value}`,
    metric: (value) => value,
    least: (value) => `score from ${value}`,
    limit: (value) => `at most ${value}`,
    options: (value) => `options ${value}`,
  };
  return Object.entries(words).flatMap(([name, text]) => {
    const value = query[name];
    return value ? [{ name, text: text(value) }] : [];
  });
}

/** The conditions of a selection in words: `type semantic, category places`. */
export function selectionText({ scope, memory_type: type, category, filters, config }: MemorySelection): string {
  const conditions = [
    scope && `scope ${scope}`,
    type && `type ${type}`,
    category !== undefined && `category ${category}`,
    config && `thread ${String(config['thread_id'])}`,
    filters && `metadata ${JSON.stringify(filters)}`,
  ];
  return conditions.filter(Boolean).join(', ');
}

/** The body that forgets what is selected; without a condition it names all. */
export const toForget = (selection: MemorySelection): MemorySelection =>
  Object.keys(selection).some((name) => name !== 'scope') ? selection : { ...selection, options: { all: true } };
