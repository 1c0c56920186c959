import { textOf, type RunRequest } from '@agent-workflow/client';
import { signal, type ReadonlySignal } from '@preact/signals';
import { useState } from 'preact/hooks';
import { go } from '../../session/route.ts';
import { client } from '../../session/session.ts';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Modal } from '../../ui/modal.tsx';
import type { Chat } from './chat.ts';
import type { Entry } from './conversation.ts';
import { forkPointOf, type Checkpoint, type CheckpointReads, type ForkPoint } from './forks.ts';

/** Forks of one thread, and why some cannot be made. */
export interface Forking {
  readonly refusals: ReadonlySignal<ReadonlyMap<string, string>>;
  readonly error: ReadonlySignal<unknown>;
  /** The message that is being edited. */
  readonly edited: ReadonlySignal<Entry | undefined>;
  readonly fork: (entry: Entry) => void;
  readonly edit: (entry: Entry) => void;
  readonly leave: () => void;
  /** Sends a text in a new thread, in the place of the message that is edited. @returns whether it was done. */
  readonly send: (text: string, request: Omit<RunRequest, 'messages'>) => Promise<boolean>;
}

const notKept = 'The service no longer keeps the version of the thread at this message: it cannot be forked here.';

/** The most checkpoints that are looked through. */
const maxCheckpoints = 1000;

export function createForking({ threadId, conversation, history }: Chat): Forking {
  const refusals = signal<ReadonlyMap<string, string>>(new Map());
  const error = signal<unknown>(undefined);
  const edited = signal<Entry | undefined>(undefined);

  const pointOf = async (entry: Entry, place: 'with' | 'before'): Promise<ForkPoint | undefined> => {
    const isFirst = history.before.peek() === 0 && conversation.entries[0] === entry;
    const point = await forkPointOf({ ...entry, isFirst }, place, readsOf(threadId.peek() ?? ''));
    if (point === undefined) {
      refusals.value = new Map([...refusals.value, [entry.id, notKept]]);
      edited.value = undefined;
    }
    return point;
  };

  /** The id of the new thread; `undefined` for one that the next run makes. */
  const threadAt = async (point: ForkPoint): Promise<string | undefined> => {
    if (point === 'start') return undefined;
    const made = await client.threads.fork(threadId.peek() ?? '', point.checkpointId);
    return made.thread_id;
  };

  const doing = async (work: () => Promise<boolean>): Promise<boolean> => {
    error.value = undefined;
    try {
      return await work();
    } catch (thrown) {
      error.value = thrown;
      return false;
    }
  };

  return {
    refusals,
    error,
    edited,
    fork: (entry) =>
      void doing(async () => {
        const point = await pointOf(entry, 'with');
        const id = point && (await threadAt(point));
        if (id !== undefined) go({ view: 'chat', id });
        return true;
      }),
    edit: (entry) => {
      error.value = undefined;
      edited.value = entry;
    },
    leave: () => {
      edited.value = undefined;
    },
    send: (text, request) =>
      doing(async () => {
        const entry = edited.peek();
        const point = entry && (await pointOf(entry, 'before'));
        if (!point) return false;
        const id = await threadAt(point);
        const run = await client.runs.start({
          ...request,
          messages: [{ role: 'user', content: text }],
          config: { ...request.config, ...(id !== undefined && { thread_id: id }) },
        });
        edited.value = undefined;
        go({ view: 'chat', id: run.thread_id, query: { run: run.run_id } });
        return true;
      }),
  };
}

const readsOf = (threadId: string): CheckpointReads => ({
  list: async () => {
    const kept: Checkpoint[] = [];
    for (let cursor: string | undefined; kept.length < maxCheckpoints;) {
      const page = await client.threads.checkpoints(threadId, { limit: 100, ...(cursor !== undefined && { cursor }) });
      kept.push(...page.checkpoints);
      ({ cursor } = page);
      if (cursor === undefined) break;
    }
    return kept;
  },
  holds: async (checkpointId, messageId) => {
    const { state } = await client.threads.checkpoint(threadId, checkpointId);
    const context = state['context'] as readonly { readonly message_id: string }[] | undefined;
    return context?.some(({ message_id: id }) => id === messageId) ?? false;
  },
});

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
    if (!request) return;
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
          <textarea rows={6} required value={text} onInput={(event) => setText(event.currentTarget.value)} />
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
