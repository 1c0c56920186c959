import type { Signal } from '@preact/signals';
import { useFaultFocus } from '../../ui/forms/fault-focus.ts';
import { Box } from './box.tsx';
import type { SearchBoxes } from './comparison.ts';
import { metrics, namesOf, strategies } from './memory-shapes.ts';
import { SelectionFields } from './selection-boxes.tsx';
import type { Faults } from './selection.ts';

interface SearchFormProps {
  readonly boxes: Signal<SearchBoxes>;
  readonly faults: Faults;
  /** How often the form was refused. */
  readonly refusals: number;
  readonly onSearch: () => void;
}

const choices = (names: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(names.map((name) => [name, name]));

/** What is looked for, what narrows it, and what the columns compare. */
export function SearchForm({ boxes, faults, refusals, onSearch }: SearchFormProps) {
  const form = useFaultFocus<HTMLFormElement>(refusals);
  const given = boxes.value;
  const onText = (name: string, text: string): void => {
    boxes.value = { ...boxes.value, [name]: text };
  };
  const onSubmit = (event: Event): void => {
    event.preventDefault();
    onSearch();
  };
  return (
    <form ref={form} class="memory-form" role="search" aria-label="Memories" noValidate onSubmit={onSubmit}>
      <div class="query-row">
        <Box
          label="Query"
          name="query"
          value={given.query}
          onText={onText}
          fault={faults['query']}
          input={{ type: 'search' }}
        />
        <button type="submit">Search</button>
      </div>
      <div class="box-grid">
        <Box
          label="Columns"
          name="compare"
          value={given.compare}
          onText={onText}
          options={{ strategies: 'per strategy', metrics: 'per metric' }}
        />
        {given.compare === 'strategies' ? (
          <Box label="Metric" name="metric" value={given.metric} onText={onText} options={choices(namesOf(metrics))} />
        ) : (
          <Box
            label="Strategy"
            name="strategy"
            value={given.strategy}
            onText={onText}
            options={choices(namesOf(strategies))}
          />
        )}
        <Box
          label="Limit"
          name="limit"
          value={given.limit}
          onText={onText}
          fault={faults['limit']}
          input={{ type: 'number', min: 1, max: 1000 }}
        />
        <Box
          label="Least score"
          name="score_threshold"
          value={given.score_threshold}
          onText={onText}
          fault={faults['score_threshold']}
          input={{ type: 'number', min: 0, max: 1, step: 'any' }}
        />
        <SelectionFields boxes={given} faults={faults} onText={onText} />
        <Box
          label="Options"
          name="options"
          value={given.options}
          onText={onText}
          fault={faults['options']}
          input={{ placeholder: '{"alpha": 0.5}', class: 'code' }}
        />
      </div>
    </form>
  );
}
