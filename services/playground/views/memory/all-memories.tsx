import { useSignal } from '@preact/signals';
import type { MemorySelection } from '@agent-workflow/client';
import { usePages } from '../../session/pages.ts';
import { client } from '../../session/session.ts';
import { useFaultFocus } from '../../ui/forms/fault-focus.ts';
import { LoadMore } from '../../ui/load-more.tsx';
import { VirtualList } from '../../ui/virtual-list.tsx';
import { MemoryCard } from './memory-card.tsx';
import { useMemoryDialogs } from './dialogs.ts';
import { MemoryDialogs } from './memory-dialogs.tsx';
import { memoriesText, noSelection, readSelection, type Faults, type SelectionBoxes } from './selection.ts';
import { SelectionFields } from './selection-boxes.tsx';

const pageSize = 100;

/** The memories that meet the conditions, newest first: added, changed and forgotten here. */
export function AllMemories() {
  const boxes = useSignal<SelectionBoxes>(noSelection);
  const faults = useSignal<Faults>({});
  const refusals = useSignal(0);
  const form = useFaultFocus<HTMLFormElement>(refusals.value);
  const selection = useSignal<MemorySelection>({});
  const total = useSignal<number | undefined>(undefined);
  const turn = useSignal(0);
  const memories = usePages(
    async (cursor, signal) => {
      const query = { ...selection.value, limit: pageSize, ...(cursor !== undefined && { cursor }) };
      const page = await client.memories.list(query, { signal });
      total.value = page.total;
      return { items: page.memories, cursor: page.cursor };
    },
    [selection.value, turn.value],
  );
  const dialogs = useMemoryDialogs(() => {
    turn.value++;
  });
  const onText = (name: string, text: string): void => {
    boxes.value = { ...boxes.value, [name]: text };
  };
  const onSubmit = (event: Event): void => {
    event.preventDefault();
    const read = readSelection(boxes.value);
    faults.value = 'faults' in read ? read.faults : {};
    if ('value' in read) selection.value = read.value;
    else refusals.value++;
  };
  const { items, isLoading, error } = memories.state.value;
  const isSame = JSON.stringify(readSelection(boxes.value)) === JSON.stringify({ value: selection.value });
  return (
    <div class="all-memories">
      <form ref={form} class="memory-form" aria-label="Which memories" noValidate onSubmit={onSubmit}>
        <div class="box-grid">
          <SelectionFields boxes={boxes.value} faults={faults.value} onText={onText} />
        </div>
        <div class="row">
          <button type="submit">Show</button>
          <button type="button" onClick={() => dialogs.open({ kind: 'add' })}>
            Add a memory …
          </button>
          <button
            type="button"
            class="danger"
            disabled={!isSame || total.value === undefined || total.value === 0}
            onClick={() => dialogs.open({ kind: 'forget-selection', selection: selection.value })}
          >
            Forget those shown …
          </button>
          <span class="hint" role="status">
            {sentenceOf(total.value, isSame)}
          </span>
        </div>
      </form>
      <p class="notice" role="status">
        {dialogs.notice.value}
      </p>
      {items.length === 0 && !isLoading && error === undefined ? (
        <p class="hint">No memory is found.</p>
      ) : (
        <VirtualList
          label="Memories"
          items={items}
          estimate={110}
          keyOf={(memory) => memory.id}
          render={(memory) => (
            <MemoryCard
              memory={memory}
              isFound={false}
              onEdit={() => dialogs.open({ kind: 'edit', memory })}
              onForget={() => dialogs.open({ kind: 'forget', memory })}
            />
          )}
        />
      )}
      <LoadMore
        pages={memories.state.value}
        thing="memory"
        things="memories"
        more={memories.more}
        again={memories.again}
      />
      <MemoryDialogs dialogs={dialogs} />
    </div>
  );
}

function sentenceOf(total: number | undefined, isSame: boolean): string {
  if (!isSame) return 'Show the changed conditions before you forget by them.';
  return total === undefined ? '' : `${memoriesText(total)} in all`;
}
