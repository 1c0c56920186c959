import type { Memory, MemorySelection } from '@agent-workflow/client';
import { useSignal, type Signal } from '@preact/signals';

/** What is asked of the reader. */
export type OpenDialog =
  | { readonly kind: 'add' }
  | { readonly kind: 'edit'; readonly memory: Memory }
  | { readonly kind: 'forget'; readonly memory: Memory }
  | { readonly kind: 'forget-selection'; readonly selection: MemorySelection };

/** The dialog that is open, and what happened in the latest one. */
export interface Dialogs {
  readonly current: Signal<OpenDialog | undefined>;
  readonly notice: Signal<string>;
  readonly open: (dialog: OpenDialog) => void;
  readonly close: () => void;
  /** Closes it and says what was done. */
  readonly done: (sentence: string) => void;
}

/** `onDone`: a memory was stored, changed or forgotten. */
export function useMemoryDialogs(onDone: () => void): Dialogs {
  const current = useSignal<OpenDialog | undefined>(undefined);
  const notice = useSignal('');
  const close = (): void => {
    current.value = undefined;
  };
  return {
    ...{ current, notice, close },
    open: (dialog) => {
      notice.value = '';
      current.value = dialog;
    },
    done: (sentence) => {
      close();
      notice.value = sentence;
      onDone();
    },
  };
}
