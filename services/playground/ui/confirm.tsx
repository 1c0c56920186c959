import type { ComponentChildren } from 'preact';
import type { Action } from '../session/action.ts';
import { ErrorNote } from './error-note.tsx';
import { Modal } from './modal.tsx';

interface ConfirmProps {
  readonly title: string;
  /** What the button says that does it. */
  readonly verb: string;
  readonly action: Action<[]>;
  readonly onClose: () => void;
  /** Whether nothing is lost by it. */
  readonly isHarmless?: boolean;
  readonly children: ComponentChildren;
}

/** Asks before something goes for good. The keyboard begins at the button that leaves things as they are. */
export function Confirm({ title, verb, action, onClose, isHarmless = false, children }: ConfirmProps) {
  return (
    <Modal title={title} onClose={onClose}>
      <div class="stack">
        {children}
        {action.error.value !== undefined && <ErrorNote error={action.error.value} />}
        <div class="row row-end">
          <button type="button" autofocus onClick={onClose}>
            Cancel
          </button>
          <button
            type="button"
            class={isHarmless ? 'button-first' : 'danger'}
            disabled={action.isBusy.value}
            onClick={() => action.start()}
          >
            {verb}
          </button>
        </div>
      </div>
    </Modal>
  );
}
