import { textOf, type RunRequest } from '@agent-workflow/client';
import { useState } from 'preact/hooks';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Modal } from '../../ui/modal.tsx';
import { sendByKeys } from '../../ui/shortcut.ts';
import type { Forking } from './forking.ts';

/** Asks for the new text of a message, which is sent in a fork of the thread. */
export function EditDialog({
  forking,
  options,
}: {
  readonly forking: Forking;
  readonly options: () => Omit<RunRequest, 'messages'> | undefined;
}) {
  const entry = forking.edited.value;
  const [text, setText] = useState(() => (entry ? textOf({ content: entry.blocks }) : ''));
  const [isSending, setSending] = useState(false);
  const onSubmit = async (event: Event): Promise<void> => {
    event.preventDefault();
    const request = options();
    if (!request || isSending) return;
    setSending(true);
    await forking.send(text, request);
    setSending(false);
  };
  return (
    <Modal title="Edit and fork" onClose={forking.leave}>
      <form class="stack" onSubmit={(event) => void onSubmit(event)}>
        <p class="hint">
          A new thread begins before this message and goes on with the new text. This thread stays as it is.
        </p>
        <label>
          Message
          <textarea
            rows={6}
            required
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
            onKeyDown={sendByKeys}
          />
        </label>
        {forking.error.value !== undefined && <ErrorNote error={forking.error.value} />}
        <div class="row">
          <button type="submit" disabled={isSending}>
            Fork and send
          </button>
          <button type="button" onClick={forking.leave}>
            Cancel
          </button>
        </div>
      </form>
    </Modal>
  );
}
