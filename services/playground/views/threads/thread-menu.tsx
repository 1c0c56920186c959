import type { Thread } from '@agent-workflow/client';
import { useSignal } from '@preact/signals';
import { useAction } from '../../session/action.ts';
import { go } from '../../session/route.ts';
import { client } from '../../session/session.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { textIn } from '../../ui/form-text.ts';
import { Menu } from '../../ui/patterns/menu.tsx';
import { Modal } from '../../ui/modal.tsx';
import { toast } from '../../ui/toasts.tsx';

interface ThreadMenuProps {
  readonly thread: Thread;
  readonly onDeleted: (thread: Thread) => void;
  /** Called with the thread as it is after a change of its name. */
  readonly onChanged: (thread: Thread) => void;
  /** Called when versions of the thread are gone. */
  readonly onPruned: () => void;
}

type Asked = 'rename' | 'copy' | 'prune' | 'delete';

/** What is seldom done with a thread: another name, a copy, fewer versions, its end. */
export function ThreadMenu({ thread, onDeleted, onChanged, onPruned }: ThreadMenuProps) {
  const asked = useSignal<Asked | undefined>(undefined);
  const open = (what: Asked) => (): void => {
    asked.value = what;
  };
  const onClose = (): void => {
    asked.value = undefined;
  };
  return (
    <>
      <Menu
        label="More of this thread"
        items={[
          { text: 'Rename …', onSelect: open('rename') },
          { text: 'Copy …', onSelect: open('copy') },
          { text: 'Drop older versions …', onSelect: open('prune') },
          { text: 'Delete …', onSelect: open('delete'), isDanger: true },
        ]}
      />
      {asked.value === 'rename' && <Rename {...{ thread, onClose, onChanged }} />}
      {asked.value === 'copy' && <Copy {...{ thread, onClose }} />}
      {asked.value === 'prune' && <Prune {...{ thread, onClose, onPruned }} />}
      {asked.value === 'delete' && <Delete {...{ thread, onClose, onDeleted }} />}
    </>
  );
}

const nameOf = ({ title, thread_id: id }: Thread): string => title ?? id;

interface DialogProps {
  readonly thread: Thread;
  readonly onClose: () => void;
}

function Rename({ thread, onClose, onChanged }: DialogProps & Pick<ThreadMenuProps, 'onChanged'>) {
  const renaming = useAction<[string | null]>(async (signal, name) => {
    onChanged(await client.threads.update(thread.thread_id, { thread_name: name }, { signal }));
    onClose();
  });
  const onSubmit = (event: SubmitEvent): void => {
    event.preventDefault();
    const name = textIn(new FormData(event.currentTarget as HTMLFormElement), 'name');
    renaming.start(name === '' ? null : name);
  };
  return (
    <Modal title="Rename this thread" onClose={onClose}>
      <form class="stack" onSubmit={onSubmit}>
        <label>
          Name
          <input name="name" type="text" maxLength={1024} autofocus defaultValue={thread.thread_name ?? ''} />
        </label>
        <p class="hint">Without a name it is called by its first message.</p>
        {renaming.error.value !== undefined && <ErrorNote error={renaming.error.value} />}
        <div class="row row-end">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="button-first" disabled={renaming.isBusy.value}>
            Rename
          </button>
        </div>
      </form>
    </Modal>
  );
}

function Copy({ thread, onClose }: DialogProps) {
  const copying = useAction<[]>(async (signal) => {
    const made = await client.threads.copy(thread.thread_id, { signal });
    onClose();
    toast({ text: `“${nameOf(thread)}” is copied. This is the copy.` });
    go({ view: 'threads', id: made.thread_id });
  });
  return (
    <Confirm title="Copy this thread?" verb="Copy the thread" action={copying} onClose={onClose} isHarmless>
      <p>The copy begins with the state and the messages of this thread, and goes its own way from there.</p>
    </Confirm>
  );
}

/** Versions that stay unless the reader says otherwise. */
const usuallyKept = 10;

function Prune({ thread, onClose, onPruned }: DialogProps & Pick<ThreadMenuProps, 'onPruned'>) {
  const keep = useSignal(usuallyKept);
  const pruning = useAction<[]>(async (signal) => {
    await client.threads.prune(thread.thread_id, { keep: keep.peek() }, { signal });
    toast({ text: 'The older versions are gone.' });
    onClose();
    onPruned();
  });
  return (
    <Confirm title="Drop older versions?" verb="Drop them" action={pruning} onClose={onClose}>
      <label>
        Newest versions that stay
        <input
          type="number"
          min={1}
          max={1000}
          value={keep.value}
          onInput={({ currentTarget: { valueAsNumber } }) => {
            if (valueAsNumber >= 1) keep.value = Math.floor(valueAsNumber);
          }}
        />
      </label>
      <p>State and messages stay as they are. What is dropped can be neither read nor forked any more.</p>
    </Confirm>
  );
}

function Delete({ thread, onClose, onDeleted }: DialogProps & Pick<ThreadMenuProps, 'onDeleted'>) {
  const deletion = useAction<[]>(async (signal) => {
    await client.threads.delete(thread.thread_id, { signal });
    onDeleted(thread);
  });
  return (
    <Confirm title="Delete this thread?" verb="Delete the thread" action={deletion} onClose={onClose}>
      <p>
        <strong>{nameOf(thread)}</strong> goes for good, with its messages, its state, its versions, its runs and the
        memories that were stored with it. A run under way is stopped.
      </p>
    </Confirm>
  );
}
