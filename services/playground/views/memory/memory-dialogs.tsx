import type { Memory, MemorySelection } from '@agent-workflow/client';
import { useAction } from '../../session/action.ts';
import { client } from '../../session/session.ts';
import { Confirm } from '../../ui/confirm.tsx';
import type { Dialogs } from './dialogs.ts';
import { useLoaded } from '../../session/loaded.ts';
import { ErrorNote } from '../../ui/error-note.tsx';
import { grouped } from '../../ui/format.ts';
import { Modal } from '../../ui/modal.tsx';
import { memoriesText, selectionText, toForget, type Faults } from './selection.ts';
import { useSignal } from '@preact/signals';
import { useFaultFocus } from '../../ui/forms/fault-focus.ts';
import { Box } from './box.tsx';
import { readObjectIfAny } from '../../ui/boxes.ts';
import { memoryTypes, namesOf } from './memory-shapes.ts';

/** Draws the dialog that is open. */
export function MemoryDialogs({ dialogs }: { readonly dialogs: Dialogs }) {
  const dialog = dialogs.current.value;
  switch (dialog?.kind) {
    case 'add':
      return <MemoryForm dialogs={dialogs} />;
    case 'edit':
      return <MemoryForm dialogs={dialogs} memory={dialog.memory} />;
    case 'forget':
      return <ForgetOne dialogs={dialogs} memory={dialog.memory} />;
    case 'forget-selection':
      return <ForgetSelection dialogs={dialogs} selection={dialog.selection} />;
    case undefined:
      return null;
  }
}

function ForgetOne({ dialogs, memory }: { readonly dialogs: Dialogs; readonly memory: Memory }) {
  const deletion = useAction<[]>(async (signal) => {
    await client.memories.delete(memory.id, { signal });
    dialogs.done('1 memory is forgotten.');
  });
  return (
    <Confirm title="Forget this memory?" verb="Forget 1 memory" action={deletion} onClose={dialogs.close}>
      <p>It goes for good:</p>
      <blockquote class="memory-content">{memory.content}</blockquote>
    </Confirm>
  );
}

interface ForgetSelectionProps {
  readonly dialogs: Dialogs;
  readonly selection: MemorySelection;
}

/** Says how many memories a selection has at this moment before they go. */
function ForgetSelection({ dialogs, selection }: ForgetSelectionProps) {
  const { state, again } = useLoaded((signal) => client.memories.list({ ...selection, limit: 3 }, { signal }), []);
  const deletion = useAction<[]>(async (signal) => {
    const { deleted_count: count } = await client.memories.forget(toForget(selection), { signal });
    dialogs.done(`${memoriesText(count)} ${count === 1 ? 'is' : 'are'} forgotten.`);
  });
  const { value, error } = state.value;
  const conditions = selectionText(selection);
  if (!value || error !== undefined || value.total === 0)
    return (
      <Modal title="Forget memories?" onClose={dialogs.close}>
        <div class="stack">
          {error === undefined ? (
            <p>{value ? 'No memory meets these conditions: there is nothing to forget.' : 'Counting …'}</p>
          ) : (
            <ErrorNote error={error} again={again} />
          )}
          <div class="row row-end">
            <button type="button" autofocus onClick={dialogs.close}>
              Close
            </button>
          </div>
        </div>
      </Modal>
    );
  const total = value.total;
  return (
    <Confirm
      title={`Forget ${memoriesText(total)}?`}
      verb={`Forget ${memoriesText(total)}`}
      action={deletion}
      onClose={dialogs.close}
    >
      <p>
        {conditions === '' ? (
          <>
            <strong>All your memories</strong> go for good: no condition narrows them.
          </>
        ) : (
          <>Those that have {conditions} at the moment of the request go for good.</>
        )}
      </p>
      <ul>
        {value.memories.map(({ id, content }) => (
          <li key={id}>
            <span class="memory-content">{content}</span>
          </li>
        ))}
        {total > value.memories.length && <li>and {grouped(total - value.memories.length)} more</li>}
      </ul>
    </Confirm>
  );
}

interface MemoryFormProps {
  readonly dialogs: Dialogs;
  /** The memory that is changed; absent for a new one. */
  readonly memory?: Memory;
}

const types = Object.fromEntries(namesOf(memoryTypes).map((name) => [name, `${name}: ${memoryTypes[name]}`]));

/** Stores a memory or changes one. What the service refuses stays in its box. */
function MemoryForm({ dialogs, memory }: MemoryFormProps) {
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
