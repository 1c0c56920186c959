import type { Memory, MemorySelection } from '@agent-workflow/client';
import { useSignal, type Signal } from '@preact/signals';
import { useAction } from '../../session/action.ts';
import { client } from '../../session/session.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { ForgetSelection } from './forget-selection.tsx';
import { MemoryForm } from './memory-form.tsx';

/** What is asked of the reader. */
export type OpenDialog =
  | { readonly kind: 'add' }
  | { readonly kind: 'edit'; readonly memory: Memory }
  | { readonly kind: 'forget'; readonly memory: Memory }
  | { readonly kind: 'forget-selection'; readonly selection: MemorySelection };

/** The dialog that is open, and what happened in the latest one. */
export interface Dialogs {
  readonly current: Signal<OpenDialog | undefined>;
  readonly said: Signal<string>;
  readonly open: (dialog: OpenDialog) => void;
  readonly close: () => void;
  /** Closes it and says what was done. */
  readonly done: (sentence: string) => void;
}

/** `onDone`: a memory was stored, changed or forgotten. */
export function useMemoryDialogs(onDone: () => void): Dialogs {
  const current = useSignal<OpenDialog | undefined>(undefined);
  const said = useSignal('');
  const close = (): void => {
    current.value = undefined;
  };
  return {
    ...{ current, said, close },
    open: (dialog) => {
      said.value = '';
      current.value = dialog;
    },
    done: (sentence) => {
      close();
      said.value = sentence;
      onDone();
    },
  };
}

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
