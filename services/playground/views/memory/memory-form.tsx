import type { JsonObject, Memory, MemoryScope } from '@agent-workflow/client';
import { useSignal } from '@preact/signals';
import { useState } from 'preact/hooks';
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
import { changedFields, metadataText } from './metadata-text.ts';

interface MemoryFormProps {
  /** The memory that is changed; absent for a new one. */
  readonly memory?: Memory;
  /** Where a new memory is stored; absent: with the reader's own. */
  readonly scope?: MemoryScope | undefined;
  /** The JSON of the reply that it was read from. */
  readonly reply?: string | undefined;
  readonly onClose: () => void;
  /** Called with the id of the memory that is stored, and with the memory as it is after a change. */
  readonly onSaved: (id: string, changed?: Memory) => void;
}

const types = Object.fromEntries(namesOf(memoryTypes).map((name) => [name, `${name}: ${memoryTypes[name]}`]));

/** Stores a memory or changes one. What the service refuses stays in its box. */
export function MemoryForm({ memory, scope = memory?.scope, reply, onClose, onSaved }: MemoryFormProps) {
  // What was there when the form was opened: a list that is read again meanwhile changes nothing in the boxes.
  const [before] = useState(() => (memory ? metadataText(memory.metadata, reply) : ''));
  const boxes = useSignal({
    content: memory?.content ?? '',
    memory_type: memory?.memory_type ?? 'semantic',
    category: memory?.category ?? '',
    thread_id: '',
    metadata: before,
  });
  const faults = useSignal<Faults>({});
  const refusals = useSignal(0);
  const form = useFaultFocus<HTMLFormElement>(refusals.value);
  const saving = useAction<[Parameters<typeof client.memories.update>[1]]>(async (signal, edited) => {
    const change = { ...edited, ...(scope !== undefined && { scope }) };
    const changed = memory && (await client.memories.update(memory.id, change, { signal })).memory;
    const id = changed?.id ?? (await storeNew(boxes.peek(), change, signal));
    toast({ text: memory ? 'The memory is changed.' : 'The memory is stored.' });
    onClose();
    onSaved(id, changed);
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
    const fields = memory ? changedOf(before, metadata, read.value) : read.value;
    if (content === memory?.content && !fields) onClose();
    else saving.start({ content, ...(fields && { metadata: fields }) });
  };
  const { content, metadata } = boxes.value;
  return (
    <Modal
      title={memory ? 'Edit the memory' : `New memory${scope === undefined ? '' : ` in ${scope}`}`}
      class="wide-dialog"
      onClose={onClose}
    >
      <form ref={form} class="stack" noValidate onSubmit={onSubmit}>
        <Box label="Content" name="content" value={content} onText={onText} fault={faults.value['content']} rows={4} />
        {!memory && <NewFields boxes={boxes.value} isShared={scope !== undefined} onText={onText} />}
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
  /** What is shared belongs to no thread. */
  readonly isShared: boolean;
  readonly onText: (name: string, text: string) => void;
}

const NewFields = ({ boxes: { memory_type: type, category, thread_id: thread }, isShared, onText }: NewFieldsProps) => (
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
    {!isShared && (
      <Box
        label="Thread"
        name="thread_id"
        value={thread}
        onText={onText}
        hint="The memory goes with this thread. Empty: it stays by itself."
      />
    )}
  </>
);

/** The fields that were edited: those that were left as they are may have changed meanwhile, or hold more than a value can. */
function changedOf(before: string, text: string, fields: JsonObject = {}): JsonObject | undefined {
  return text === before ? undefined : changedFields(JSON.parse(before) as JsonObject, fields);
}

async function storeNew(
  { memory_type: type, category, thread_id: thread }: NewBoxes,
  change: Parameters<typeof client.memories.update>[1],
  signal: AbortSignal,
): Promise<string> {
  const config = thread.trim() === '' ? {} : { config: { thread_id: thread.trim() } };
  return (await client.memories.store({ ...change, memory_type: type, category, ...config }, { signal })).memory_id;
}
