import type { Memory } from '@agent-workflow/client';
import { useSignal } from '@preact/signals';
import { useAction } from '../../session/action.ts';
import { client } from '../../session/session.ts';
import { readObjectIfAny } from '../../ui/boxes.ts';
import { useFaultFocus } from '../../ui/forms/fault-focus.ts';
import { Modal } from '../../ui/modal.tsx';
import { Failure } from '../../ui/patterns/failure.tsx';
import { toast } from '../../ui/toasts.tsx';
import { Box } from './box.tsx';
import type { Faults } from './memory-address.ts';
import { memoryTypes, namesOf } from './memory-shapes.ts';

interface MemoryFormProps {
  /** The memory that is changed; absent for a new one. */
  readonly memory?: Memory;
  readonly onClose: () => void;
  /** Called with the id of the memory that is stored. */
  readonly onSaved: (id: string) => void;
}

const types = Object.fromEntries(namesOf(memoryTypes).map((name) => [name, `${name}: ${memoryTypes[name]}`]));

/** Stores a memory or changes one. What the service refuses stays in its box. */
export function MemoryForm({ memory, onClose, onSaved }: MemoryFormProps) {
  const boxes = useSignal({
    content: memory?.content ?? '',
    memory_type: memory?.memory_type ?? 'semantic',
    category: memory?.category ?? '',
    thread_id: '',
    metadata: memory ? JSON.stringify(memory.metadata, undefined, 2) : '',
  });
  const faults = useSignal<Faults>({});
  const refusals = useSignal(0);
  const form = useFaultFocus<HTMLFormElement>(refusals.value);
  const saving = useAction<[Parameters<typeof client.memories.update>[1]]>(async (signal, change) => {
    const id = memory
      ? (await client.memories.update(memory.id, change, { signal })).memory.id
      : await storeNew(boxes.peek(), change, signal);
    toast({ text: memory ? 'The memory is changed.' : 'The memory is stored.' });
    onClose();
    onSaved(id);
  });
  const onText = (name: string, text: string): void => {
    boxes.value = { ...boxes.value, [name]: text };
  };
  const onSubmit = (event: Event): void => {
    event.preventDefault();
    const { content, metadata } = boxes.value;
    const read = readObjectIfAny('Metadata', metadata);
    faults.value = {
      ...(content.trim() === '' && { content: 'Content is empty' }),
      ...('fault' in read && { metadata: read.fault }),
    };
    if (Object.keys(faults.value).length > 0) refusals.value++;
    if (content.trim() === '' || 'fault' in read) return;
    saving.start({ content, ...(read.value && { metadata: read.value }) });
  };
  const { content, metadata } = boxes.value;
  return (
    <Modal title={memory ? 'Edit the memory' : 'New memory'} class="wide-dialog" onClose={onClose}>
      <form ref={form} class="stack" noValidate onSubmit={onSubmit}>
        <Box label="Content" name="content" value={content} onText={onText} fault={faults.value['content']} rows={4} />
        {!memory && <NewFields boxes={boxes.value} onText={onText} />}
        <Box
          label="Metadata"
          name="metadata"
          value={metadata}
          onText={onText}
          fault={faults.value['metadata']}
          hint={
            memory
              ? 'A JSON object. Its fields are added or replaced; a field that is left out stays.'
              : 'A JSON object that searches can filter by.'
          }
          rows={4}
        />
        {saving.error.value !== undefined && <Failure error={saving.error.value} />}
        <div class="row row-end">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" disabled={saving.isBusy.value}>
            {memory ? 'Save' : 'Store'}
          </button>
        </div>
      </form>
    </Modal>
  );
}

/** What is chosen of a new memory, and stays as it is. */
interface NewBoxes {
  readonly memory_type: Memory['memory_type'];
  readonly category: string;
  readonly thread_id: string;
}

interface NewFieldsProps {
  readonly boxes: NewBoxes;
  readonly onText: (name: string, text: string) => void;
}

const NewFields = ({ boxes: { memory_type: type, category, thread_id: thread }, onText }: NewFieldsProps) => (
  <>
    <Box label="Kind" name="memory_type" value={type} onText={onText} options={types} />
    <Box
      label="Category"
      name="category"
      value={category}
      onText={onText}
      hint="A word of your own by which memories are grouped."
      input={{ maxLength: 256 }}
    />
    <Box
      label="Thread"
      name="thread_id"
      value={thread}
      onText={onText}
      hint="The memory goes with this thread. Empty: it stays by itself."
    />
  </>
);

async function storeNew(
  { memory_type: type, category, thread_id: thread }: NewBoxes,
  change: Parameters<typeof client.memories.update>[1],
  signal: AbortSignal,
): Promise<string> {
  const config = thread.trim() === '' ? {} : { config: { thread_id: thread.trim() } };
  return (await client.memories.store({ ...change, memory_type: type, category, ...config }, { signal })).memory_id;
}
