import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { go, route } from '../../session/route.ts';
import { ChoiceBox } from '../../ui/choice-box.tsx';
import { useFaultFocus } from '../../ui/forms/fault-focus.ts';
import { Icon } from '../../ui/icon.tsx';
import { SearchBox } from '../../ui/search-box.tsx';
import { Box } from './box.tsx';
import { furtherFilters, mostFound, readMemoryPlace, usualLimit, type Faults } from './memory-address.ts';
import { memoryTypes, metrics, namesOf, strategies } from './memory-shapes.ts';

type Query = Readonly<Record<string, string>>;

/** Lists other memories, beside the one that is open: those of the address with these parameters changed; an empty one goes. */
export function select(changed: Query): void {
  const { id, query } = route.peek();
  const next = Object.entries({ ...query, ...changed }).filter(([, value]) => value !== '');
  go({ view: 'memory', ...(id !== undefined && { id }), query: Object.fromEntries(next) }, { replace: true });
}

const kinds = namesOf(memoryTypes).map((name) => ({ word: name, text: name }));
const [, ...others] = namesOf(strategies);
const orders = others.map((name) => ({ word: name, text: strategies[name].title }));

/** The box to search in, and the filters in one line; those that are seldom wanted open from a button. */
export function MemoryFilters({ query }: { readonly query: Query }) {
  const isSearch = (query['search'] ?? '').trim() !== '';
  return (
    <>
      <SearchBox
        label="Memories"
        placeholder="What it is about, or words of it"
        value={query['search'] ?? ''}
        onSearch={(search) => select({ search, ...(search === '' && { compare: '' }) })}
      />
      <ChoiceBox
        label="Kind"
        any="Any kind"
        choices={kinds}
        value={query['type'] ?? ''}
        onChoose={(type) => select({ type })}
      />
      {isSearch && query['compare'] !== 'strategies' && (
        <ChoiceBox
          label="Found by"
          any={strategies.hybrid.title}
          choices={orders}
          value={query['by'] ?? ''}
          onChoose={(by) => select({ by })}
        />
      )}
      <Further query={query} isSearch={isSearch} />
      {furtherFilters(query).map(({ name, text }) => (
        <button key={name} type="button" class="choice choice-made made-filter" onClick={() => select({ [name]: '' })}>
          <span class="choice-text">{text}</span>
          <span class="unseen">: remove this filter</span>
          <Icon name="close" />
        </button>
      ))}
    </>
  );
}

const boxNames = ['scope', 'category', 'thread', 'filters', 'least', 'limit', 'metric', 'options'] as const;
const metricChoices = {
  '': 'cosine',
  ...Object.fromEntries(
    namesOf(metrics)
      .slice(1)
      .map((name) => [name, name]),
  ),
};

const boxesOf = (query: Query): Query => Object.fromEntries(boxNames.map((name) => [name, query[name] ?? '']));

/** What narrows a list further, and how a search works. What cannot be read stays in its box, with the reason. */
function Further({ query, isSearch }: { readonly query: Query; readonly isSearch: boolean }) {
  const details = useRef<HTMLDetailsElement>(null);
  const boxes = useSignal(boxesOf(query));
  const faults = useSignal<Faults>({});
  const refusals = useSignal(0);
  const form = useFaultFocus<HTMLFormElement>(refusals.value);
  const given = JSON.stringify(boxesOf(query));
  useEffect(() => {
    boxes.value = boxesOf(query);
  }, [given]);
  const close = (): void => {
    if (details.current) details.current.open = false;
    details.current?.querySelector('summary')?.focus();
  };
  const onSubmit = (event: SubmitEvent): void => {
    event.preventDefault();
    const read = readMemoryPlace(boxes.value);
    faults.value = 'faults' in read ? read.faults : {};
    if ('faults' in read) {
      refusals.value++;
      return;
    }
    close();
    select(boxes.value);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'Escape' || !details.current?.open) return;
    event.preventDefault();
    close();
  };
  const onText = (name: string, text: string): void => {
    boxes.value = { ...boxes.value, [name]: text };
  };
  const boxOf = (name: (typeof boxNames)[number]) => ({
    ...{ name, onText, value: boxes.value[name] ?? '', fault: faults.value[name] },
  });
  return (
    <details class="more-filters" ref={details} onKeyDown={onKeyDown}>
      <summary class="choice">
        <Icon name="options" /> Tune
      </summary>
      <form ref={form} class="floating" aria-label="Tune the search" noValidate onSubmit={onSubmit}>
        <Box
          label="Scope"
          {...boxOf('scope')}
          isWide
          hint="agent:NAME or shared:NAME; empty: your own"
          input={{ placeholder: 'own', class: 'code' }}
        />
        <Box label="Category" {...boxOf('category')} input={{ maxLength: 256 }} />
        <Box label="Thread" {...boxOf('thread')} hint="its id" />
        <Box
          label="Metadata"
          {...boxOf('filters')}
          isWide
          input={{ placeholder: '{"year": {"$gte": 2020}}', class: 'code' }}
        />
        {isSearch && (
          <>
            <Box
              label="Least score"
              {...boxOf('least')}
              input={{ type: 'number', min: 0, max: 1, step: 'any', placeholder: '0' }}
            />
            <Box
              label="Limit"
              {...boxOf('limit')}
              input={{ type: 'number', min: 1, max: mostFound, placeholder: String(usualLimit) }}
            />
            <Box label="Metric" {...boxOf('metric')} options={metricChoices} />
            <Box label="Options" {...boxOf('options')} input={{ placeholder: '{"alpha": 0.5}', class: 'code' }} />
          </>
        )}
        <button type="submit" class="button-first">
          Show
        </button>
      </form>
    </details>
  );
}
