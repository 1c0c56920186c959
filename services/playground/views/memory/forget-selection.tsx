import type { MemorySelection } from '@agent-workflow/client';
import { useAction } from '../../session/action.ts';
import { useLoaded } from '../../session/loaded.ts';
import { client } from '../../session/session.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { grouped } from '../../ui/format.ts';
import { Modal } from '../../ui/modal.tsx';
import { Failure } from '../../ui/patterns/failure.tsx';
import { toast } from '../../ui/toasts.tsx';
import { selectionText, toForget } from './memory-address.ts';
import { memoriesText, titleOfMemory } from './memory-words.ts';

interface ForgetSelectionProps {
  readonly selection: MemorySelection;
  readonly onClose: () => void;
  readonly onForgotten: () => void;
}

/** Says how many memories a selection has at this moment before they go. */
export function ForgetSelection({ selection, onClose, onForgotten }: ForgetSelectionProps) {
  const { state, again } = useLoaded((signal) => client.memories.list({ ...selection, limit: 3 }, { signal }), []);
  const deletion = useAction<[]>(async (signal) => {
    const { deleted_count: count } = await client.memories.forget(toForget(selection), { signal });
    toast({ text: `${memoriesText(count)} ${count === 1 ? 'is' : 'are'} forgotten.` });
    onClose();
    onForgotten();
  });
  const { value, error } = state.value;
  const conditions = selectionText(selection);
  if (!value || error !== undefined || value.total === 0)
    return (
      <Modal title="Forget memories?" onClose={onClose}>
        <div class="stack">
          {error === undefined ? (
            <p>{value ? 'No memory meets these conditions: there is nothing to forget.' : 'Counting …'}</p>
          ) : (
            <Failure error={error} retry={again} />
          )}
          <div class="row row-end">
            <button type="button" autofocus onClick={onClose}>
              Close
            </button>
          </div>
        </div>
      </Modal>
    );
  const { total } = value;
  return (
    <Confirm
      title={`Forget ${memoriesText(total)}?`}
      verb={`Forget ${memoriesText(total)}`}
      action={deletion}
      onClose={onClose}
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
        {value.memories.map((memory) => (
          <li key={memory.id} dir="auto">
            {titleOfMemory(memory)}
          </li>
        ))}
        {total > value.memories.length && <li>and {grouped(total - value.memories.length)} more</li>}
      </ul>
    </Confirm>
  );
}
