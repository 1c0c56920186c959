import type { ComponentChildren } from 'preact';
import { useAction } from '../../session/action.ts';
import { ErrorNote } from '../../ui/error-note.tsx';
import { textIn } from '../../ui/form-text.ts';
import { Modal } from '../../ui/modal.tsx';

interface ReasonDialogProps {
  readonly title: string;
  /** What the button says that does it. */
  readonly verb: string;
  readonly work: (reason: string, signal: AbortSignal) => Promise<void>;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** Does something with a run of somebody for a reason, which goes on record. */
export function ReasonDialog({ title, verb, work, onClose, children }: ReasonDialogProps) {
  const action = useAction<[string]>((signal, reason) => work(reason, signal));
  const onSubmit = (event: SubmitEvent): void => {
    event.preventDefault();
    action.start(textIn(new FormData(event.currentTarget as HTMLFormElement), 'reason'));
  };
  return (
    <Modal title={title} onClose={onClose}>
      <form class="stack" onSubmit={onSubmit}>
        <p>{children}</p>
        <label>
          Reason
          <input name="reason" required maxLength={500} autocomplete="off" autofocus />
          <span class="hint">It goes on record with your name.</span>
        </label>
        {action.error.value !== undefined && <ErrorNote error={action.error.value} />}
        <div class="row row-end">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="button-first" disabled={action.isBusy.value}>
            {verb}
          </button>
        </div>
      </form>
    </Modal>
  );
}
