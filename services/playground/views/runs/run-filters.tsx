import { useId, useRef } from 'preact/hooks';
import { useSeveralAgents } from '../../session/agents.ts';
import { go, route, toHash } from '../../session/route.ts';
import { createSavedFilters, type SavedFilter } from '../../session/saved-filters.ts';
import { ChoiceBox } from '../../ui/choice-box.tsx';
import { textIn } from '../../ui/form-text.ts';
import { Icon } from '../../ui/icon.tsx';
import { SavedTabs } from '../../ui/saved-tabs.tsx';
import { SearchBox } from '../../ui/search-box.tsx';
import { furtherFilters, rangeChoices, statusChoices } from './run-selection.ts';

type Query = Readonly<Record<string, string>>;

/** The filters of runs that the reader has saved. */
export const savedRunFilters = createSavedFilters('runs', localStorage);

/** The same of the runs of everybody. */
export const savedFiltersOfAll = createSavedFilters('operators', localStorage);

/** Lists others in the same view: those of the address with these parameters changed; an empty one goes. */
export function select(changed: Query): void {
  const { view, query: before } = route.peek();
  const query = Object.entries({ ...before, ...changed }).filter(([, value]) => value !== '');
  go({ view, query: Object.fromEntries(query) }, { replace: true });
}

interface RunFiltersProps {
  readonly query: Query;
  readonly given: readonly SavedFilter[];
  /** Whose runs are listed. Those of everybody are found by owner, and neither by title nor by error, which are masked. */
  readonly view?: 'runs' | 'operators';
}

/** Saved filters, the box to search in, and the filters in one line; those that are seldom wanted open from a button. */
export function RunFilters({ query, given, view = 'runs' }: RunFiltersProps) {
  const agents = useSeveralAgents().map(({ name }) => ({ word: name, text: name }));
  return (
    <>
      <SavedTabs
        given={given}
        saved={view === 'runs' ? savedRunFilters : savedFiltersOfAll}
        query={query}
        hrefOf={(each) => toHash({ view, query: each })}
      />
      {view === 'runs' ? (
        <SearchBox
          label="Runs"
          placeholder="Title, error or id"
          value={query['search'] ?? ''}
          onSearch={(search) => select({ search })}
        />
      ) : (
        <SearchBox
          label="Owner"
          name="Owner"
          placeholder="Owner"
          value={query['user'] ?? ''}
          onSearch={(user) => select({ user })}
        />
      )}
      <ChoiceBox
        label="Time"
        any="Any time"
        choices={rangeChoices}
        value={query['days'] ?? ''}
        onChoose={(days) => select({ days, from: '', to: '' })}
      />
      <ChoiceBox
        label="Status"
        any="Any status"
        choices={statusChoices}
        value={query['status'] ?? ''}
        onChoose={(status) => select({ status })}
      />
      {(agents.length > 0 || query['agent'] !== undefined) && (
        <ChoiceBox
          label="Agent"
          any="Any agent"
          choices={agents}
          value={query['agent'] ?? ''}
          onChoose={(agent) => select({ agent })}
        />
      )}
      <MoreFilters query={query} boxes={view === 'runs' ? boxes : boxesOfAll} />
      <MadeFilters query={query} />
    </>
  );
}

/** The filters that are made beside those of the line, each with a button that takes it away. */
function MadeFilters({ query }: { readonly query: Query }) {
  return furtherFilters(query).map(({ name, text }) => (
    <button key={name} type="button" class="choice choice-made" onClick={() => select({ [name]: '' })}>
      <span class="choice-text">{text}</span>
      <span class="unseen">: remove this filter</span>
      <Icon name="close" />
    </button>
  ));
}

const boxes = [
  { name: 'node', text: 'Node', type: 'text', hint: 'it failed or stands at' },
  { name: 'error', text: 'Error', type: 'text', hint: 'a text of it' },
  { name: 'min', text: 'Took at least', type: 'number', hint: 'seconds' },
  { name: 'max', text: 'Took at most', type: 'number', hint: 'seconds' },
  { name: 'from', text: 'From', type: 'date', hint: '' },
  { name: 'to', text: 'Up to', type: 'date', hint: 'this day included' },
  { name: 'revision', text: 'Revision', type: 'text', hint: 'of the agent' },
] as const;

const boxesOfAll = boxes.filter(({ name }) => name !== 'error');

interface MoreFiltersProps {
  readonly query: Query;
  readonly boxes: readonly (typeof boxes)[number][];
}

function MoreFilters({ query, boxes }: MoreFiltersProps) {
  const details = useRef<HTMLDetailsElement>(null);
  const base = useId();
  const close = (): void => {
    if (details.current) details.current.open = false;
    details.current?.querySelector('summary')?.focus();
  };
  // The form opens below its button, and inside the list where the button is near its edge.
  const place = (): void => {
    const { current } = details;
    current?.style.setProperty('--button-x', `${String(current.offsetLeft)}px`);
  };
  const onSubmit = (event: SubmitEvent): void => {
    event.preventDefault();
    const given = new FormData(event.currentTarget as HTMLFormElement);
    const values = boxes.map(({ name }) => [name, textIn(given, name)] as const);
    const hasDays = values.some(([name, value]) => (name === 'from' || name === 'to') && value !== '');
    close();
    select({ ...Object.fromEntries(values), ...(hasDays && { days: '' }) });
  };
  const clear = (): void => {
    close();
    select(Object.fromEntries(boxes.map(({ name }) => [name, ''])));
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'Escape' || !details.current?.open) return;
    event.preventDefault();
    close();
  };
  return (
    <details class="more-filters" ref={details} onToggle={place} onKeyDown={onKeyDown}>
      <summary class="choice">
        <Icon name="plus" /> Filter
      </summary>
      <form class="floating" aria-label="More filters" onSubmit={onSubmit}>
        {boxes.map(({ name, text, type, hint }) => (
          <label key={`${name} ${query[name] ?? ''}`} for={`${base}-${name}`}>
            <span>
              {text} <span class="hint">{hint}</span>
            </span>
            <input
              id={`${base}-${name}`}
              name={name}
              type={type}
              {...(type === 'number' && { min: 0, step: 'any' })}
              {...(type === 'text' && { maxLength: 1024 })}
              defaultValue={query[name] ?? ''}
            />
          </label>
        ))}
        <div class="row row-end">
          <button type="button" class="button-quiet" disabled={boxes.every(({ name }) => !query[name])} onClick={clear}>
            Clear
          </button>
          <button type="submit" class="button-first">
            Show
          </button>
        </div>
      </form>
    </details>
  );
}
