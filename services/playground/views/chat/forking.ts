import type { RunRequest } from '@agent-workflow/client';
import { signal, type ReadonlySignal } from '@preact/signals';
import { go, isOpen } from '../../session/route.ts';
import { client } from '../../session/session.ts';
import { textBlocks } from './attached-blocks.ts';
import type { Chat } from './chat.ts';
import type { Entry } from './conversation.ts';
import { readsOf } from './checkpoint-reads.ts';
import { checkpointOf, messageBefore, runAt } from './forks.ts';
import { isAbsent } from './history.ts';

/** Forks of one thread, and why some cannot be made. */
export interface Forking {
  readonly refusals: ReadonlySignal<ReadonlyMap<string, string>>;
  readonly error: ReadonlySignal<unknown>;
  /** The message that is being edited. */
  readonly edited: ReadonlySignal<Entry | undefined>;
  readonly fork: (entry: Entry) => void;
  readonly edit: (entry: Entry) => void;
  /** Opens the run that a message came with. */
  readonly openRun: (entry: Entry) => void;
  readonly leave: () => void;
  /** Sends a text in a new thread, in the place of the message that is edited. @returns whether it was done. */
  readonly send: (text: string, request: Omit<RunRequest, 'messages'>) => Promise<boolean>;
}

const notKept = 'The service no longer keeps the version of the thread at this message: it cannot be forked here.';

const noRun = 'The service no longer keeps which run this message came with, or it came with none.';

export function createForking({ threadId, conversation, history }: Chat): Forking {
  const refusals = signal<ReadonlyMap<string, string>>(new Map());
  const error = signal<unknown>(undefined);
  const edited = signal<Entry | undefined>(undefined);

  const refuse = (entry: Entry, why: string): void => {
    refusals.value = new Map([...refusals.peek(), [entry.id, why]]);
    edited.value = undefined;
  };

  /** Makes a thread that ends after a message. @returns its id; `undefined` when that version is no longer kept. */
  const forkBehind = async (entry: Entry): Promise<string | undefined> => {
    const id = threadId.peek() ?? '';
    const { entries } = conversation;
    try {
      const point = await checkpointOf(entry, entries[entries.indexOf(entry) + 1], readsOf(id));
      return point === undefined ? undefined : (await client.threads.fork(id, point)).thread_id;
    } catch (thrown) {
      if (isAbsent(thrown)) return undefined;
      throw thrown;
    }
  };

  /** The message before another, and `start` before the first. */
  const before = async (entry: Entry): Promise<Entry | 'start' | undefined> => {
    if (conversation.entries[0] === entry) await history.loadOlder(threadId.peek() ?? '');
    return conversation.entries[0] === entry ? 'start' : messageBefore(conversation.entries, entry);
  };

  /** Shows the new thread, unless the reader has left this one: then it stands in the list of threads. */
  const show = (made: { readonly id: string; readonly query?: Readonly<Record<string, string>> }): void => {
    if (isOpen({ view: 'chat', id: threadId.peek() })) go({ view: 'chat', ...made });
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
        const id = await forkBehind(entry);
        if (id === undefined) refuse(entry, notKept);
        else show({ id });
        return true;
      }),
    edit: (entry) => {
      error.value = undefined;
      edited.value = entry;
    },
    openRun: (entry) =>
      void doing(async () => {
        const run = entry.origin?.runId ?? runAt(entry.checkpointId, await readsOf(threadId.peek() ?? '').list());
        if (run === undefined) refuse(entry, noRun);
        else if (isOpen({ view: 'chat', id: threadId.peek() })) go({ view: 'runs', id: run });
        return true;
      }),
    leave: () => {
      edited.value = undefined;
    },
    send: (text, request) =>
      doing(async () => {
        const entry = edited.peek();
        if (!entry) return false;
        const point = await before(entry);
        const id = point === undefined || point === 'start' ? undefined : await forkBehind(point);
        if (point === undefined || (point !== 'start' && id === undefined)) {
          refuse(entry, notKept);
          return false;
        }
        const run = await client.runs.start({
          ...request,
          messages: [
            { role: 'user', content: [...textBlocks(text), ...entry.blocks.filter(({ type }) => type !== 'text')] },
          ],
          config: { ...request.config, ...(id !== undefined && { thread_id: id }) },
        });
        edited.value = undefined;
        show({ id: run.thread_id, query: { run: run.run_id } });
        return true;
      }),
  };
}
