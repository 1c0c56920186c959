import type { MemoryQuery } from '@agent-workflow/client';
import { readNumber, readObjectIfAny } from '../../ui/boxes.ts';
import { metrics, namesOf, strategies, type Metric, type Strategy } from './memory-shapes.ts';
import { noSelection, readSelection, type Faults, type SelectionBoxes } from './selection.ts';

/** The boxes of the search form. */
export interface SearchBoxes extends SelectionBoxes {
  readonly query: string;
  readonly limit: string;
  readonly score_threshold: string;
  /** What differs from column to column; the other is the same in all. */
  readonly compare: 'strategies' | 'metrics';
  readonly strategy: Strategy;
  readonly metric: Metric;
  readonly options: string;
}

export const firstBoxes: SearchBoxes = {
  ...noSelection,
  query: '',
  limit: '10',
  score_threshold: '0',
  compare: 'strategies',
  strategy: 'similarity',
  metric: 'cosine',
  options: '',
};

/** One column: its name, what it does, and the search that fills it. */
export interface Column {
  readonly title: string;
  readonly hint: string;
  readonly query: MemoryQuery;
}

/** The columns of a comparison: one a strategy by one metric, or one a metric by one strategy. */
export function columnsOf(boxes: SearchBoxes): { readonly value: readonly Column[] } | { readonly faults: Faults } {
  const limit = readNumber('Limit', boxes.limit, { least: 1, most: 1000 });
  const threshold = readNumber('Least score', boxes.score_threshold, { least: 0, most: 1 });
  const options = readObjectIfAny('Options', boxes.options);
  const selection = readSelection(boxes);
  const faults = {
    ...(boxes.query.trim() === '' && { query: 'Query is empty' }),
    ...('fault' in limit && { limit: limit.fault }),
    ...('fault' in threshold && { score_threshold: threshold.fault }),
    ...('fault' in options && { options: options.fault }),
    ...('faults' in selection && selection.faults),
  };
  if ('fault' in limit || 'fault' in threshold || 'fault' in options || 'faults' in selection || faults.query)
    return { faults };
  const common = {
    query: boxes.query,
    ...selection.value,
    ...(limit.value !== undefined && { limit: limit.value }),
    ...(threshold.value !== undefined && { score_threshold: threshold.value }),
    ...(options.value && { options: options.value }),
  };
  const column = (strategy: Strategy, metric: Metric, title: string, hint: string): Column => ({
    ...{ title, hint, query: { ...common, retrieval_strategy: strategy, distance_metric: metric } },
  });
  return {
    value:
      boxes.compare === 'strategies'
        ? namesOf(strategies).map((name) => column(name, boxes.metric, name, strategies[name]))
        : namesOf(metrics).map((name) => column(boxes.strategy, name, name, metrics[name])),
  };
}
