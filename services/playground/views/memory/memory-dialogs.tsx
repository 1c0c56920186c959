import type { Memory } from '@agent-workflow/client';
import { useAction } from '../../session/action.ts';
import { client } from '../../session/session.ts';
import { Confirm } from '../../ui/confirm.tsx';
import type { Dialogs } from './dialogs.ts';
import { ForgetSelection } from './forget-selection.tsx';
import { MemoryForm } from './memory-form.tsx';

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
