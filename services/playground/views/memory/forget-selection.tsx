import type { MemorySelection } from '@agent-workflow/client';
import { useAction } from '../../session/action.ts';
import { useLoaded } from '../../session/loaded.ts';
import { client } from '../../session/session.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { grouped } from '../../ui/format.ts';
import { Modal } from '../../ui/modal.tsx';
import type { Dialogs } from './dialogs.ts';
import { memoriesText, selectionText, toForget } from './selection.ts';

interface ForgetSelectionProps {
  readonly dialogs: Dialogs;
  readonly selection: MemorySelection;
}

/** Says how many memories a selection has at this moment before they go. */
export function ForgetSelection({ dialogs, selection }: ForgetSelectionProps) {
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
