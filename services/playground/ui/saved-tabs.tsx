import { useSignal } from '@preact/signals';
import { useId } from 'preact/hooks';
import { isSameQuery, type SavedFilter, type SavedFilters } from '../session/saved-filters.ts';
import { textIn } from './form-text.ts';
import { Modal } from './modal.tsx';
import { toast } from './toasts.tsx';

interface SavedTabsProps {
  /** Those that every reader has. */
  readonly given: readonly SavedFilter[];
  readonly saved: SavedFilters;
  /** The selection of the address. */
  readonly query: SavedFilter['query'];
  readonly hrefOf: (query: SavedFilter['query']) => string;
}

/** The filters that have names, as links; the one that is shown is marked. */
export function SavedTabs({ given, saved, query, hrefOf }: SavedTabsProps) {
  return (
    <nav class="saved" aria-label="Saved filters">
      {[...given, ...saved.filters.value].map((filter) => (
        <a
          key={filter.name}
          href={hrefOf(filter.query)}
          aria-current={isSameQuery(filter.query, query) ? 'true' : undefined}
        >
          {filter.name}
        </a>
      ))}
    </nav>
  );
}

/** Saves the selection under a name, or removes it where the reader has saved it. There is no button for what is given. */
export function SaveFilter({ given, saved, query }: Omit<SavedTabsProps, 'hrefOf'>) {
  const isAsked = useSignal(false);
  const isSame = (filter: SavedFilter): boolean => isSameQuery(filter.query, query);
  const own = saved.filters.value.find(isSame);
  if (own) {
    const remove = (): void => {
      saved.remove(own.name);
      toast({ text: `The filter “${own.name}” is removed.`, undo: () => void saved.save(own) });
    };
    return (
      <button type="button" class="button-quiet" onClick={remove}>
        Remove filter
      </button>
    );
  }
  if (given.some(isSame)) return null;
  return (
    <>
      <button
        type="button"
        class="button-quiet"
        onClick={() => {
          isAsked.value = true;
        }}
      >
        Save filter
      </button>
      {isAsked.value && (
        <NameFilter
          save={(name) => saved.save({ name, query })}
          onClose={() => {
            isAsked.value = false;
          }}
        />
      )}
    </>
  );
}

interface NameFilterProps {
  /** @returns why it cannot be saved. */
  readonly save: (name: string) => string | undefined;
  readonly onClose: () => void;
}

function NameFilter({ save, onClose }: NameFilterProps) {
  const fault = useSignal('');
  const help = useId();
  const onSubmit = (event: SubmitEvent): void => {
    event.preventDefault();
    const name = textIn(new FormData(event.currentTarget as HTMLFormElement), 'name');
    fault.value = save(name) ?? '';
    if (fault.value === '') onClose();
  };
  return (
    <Modal title="Save this filter" onClose={onClose}>
      <form class="stack" onSubmit={onSubmit}>
        <label>
          Name
          <input name="name" type="text" maxLength={40} autofocus required aria-describedby={help} />
        </label>
        <p class="hint" id={help} role="alert">
          {fault.value}
        </p>
        <div class="row row-end">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="button-first">
            Save
          </button>
        </div>
      </form>
    </Modal>
  );
}
