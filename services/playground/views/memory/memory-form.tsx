import type { Memory } from '@agent-workflow/client';
import { useSignal } from '@preact/signals';
import { useAction } from '../../session/action.ts';
import { client } from '../../session/session.ts';
import { ErrorNote } from '../../ui/error-note.tsx';
import { useFaultFocus } from '../../ui/forms/fault-focus.ts';
import { Modal } from '../../ui/modal.tsx';
import { Box } from './box.tsx';
import { readObjectIfAny } from '../../ui/boxes.ts';
import type { Dialogs } from './dialogs.ts';
import { memoryTypes, namesOf } from './memory-shapes.ts';
import type { Faults } from './selection.ts';

interface MemoryFormProps {
  readonly dialogs: Dialogs;
  /** The memory that is changed; absent for a new one. */
  readonly memory?: Memory;
}

const types = Object.fromEntries(namesOf(memoryTypes).map((name) => [name, `${name}: ${memoryTypes[name]}`]));

/** Stores a memory or changes one. What the service refuses stays in its box. */
export function MemoryForm({ dialogs, memory }: MemoryFormProps) {
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
    if (memory) await client.memories.update(memory.id, change, { signal });
    else {
      const { memory_type: type, category, thread_id: thread } = boxes.peek();
      const config = thread.trim() === '' ? {} : { config: { thread_id: thread.trim() } };
      await client.memories.store({ ...change, memory_type: type, category, ...config }, { signal });
    }
    dialogs.done(memory ? 'The memory is changed.' : 'The memory is stored.');
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
  const { content, memory_type: type, category, thread_id: thread, metadata } = boxes.value;
  return (
    <Modal title={memory ? 'Edit a memory' : 'Add a memory'} onClose={dialogs.close}>
      <form ref={form} class="stack wide" noValidate onSubmit={onSubmit}>
        <Box label="Content" name="content" value={content} onText={onText} fault={faults.value['content']} rows={4} />
        {memory ? (
          <p class="hint small">
            {memory.memory_type} · {memory.category} · <code>{memory.id}</code>
          </p>
        ) : (
          <>
            <Box label="Type" name="memory_type" value={type} onText={onText} options={types} />
            <Box label="Category" name="category" value={category} onText={onText} input={{ maxLength: 256 }} />
            <Box
              label="Thread"
              name="thread_id"
              value={thread}
              onText={onText}
              hint="The memory goes with this thread. Empty: it stays by itself."
            />
          </>
        )}
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
          rows={5}
        />
        {saving.error.value !== undefined && <ErrorNote error={saving.error.value} />}
        <div class="row row-end">
          <button type="button" onClick={dialogs.close}>
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
