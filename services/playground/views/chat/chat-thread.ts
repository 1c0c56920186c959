import type { Client, Thread } from '@agent-workflow/client';
import { signal, type Signal } from '@preact/signals';
import { isAbsent } from './history.ts';

export type Missing = 'unknown' | 'deleted';

/** The thread of a chat, as far as its record says what it is. */
export interface ChatThread {
  /** Absent before its first run. */
  readonly id: Signal<string | undefined>;
  /** What it is called: its name, else the title that the service gives it. */
  readonly name: Signal<string | undefined>;
  /** The agent that it belongs to: `null` before its first run, `undefined` while it is not known. */
  readonly agent: Signal<string | null | undefined>;
  /** Whether the service did not know it when it was opened (`unknown`), or knows it no more (`deleted`): nothing is sent to it. */
  readonly missing: Signal<Missing | undefined>;
  /** Reads what it is called, and whose it is. @throws RequestError when it cannot be read. */
  readonly read: (id: string) => Promise<void>;
  /** Makes sure that it is still there. @throws RequestError when it is not, or cannot be read. */
  readonly ensure: (id: string) => Promise<void>;
  /** Becomes one that has no run yet. */
  readonly leave: () => void;
}

/** `opened` is the id that the address names. Requests end with `ended`. */
export function createChatThread(
  opened: string | undefined,
  ended: AbortSignal,
  client: Pick<Client, 'threads'>,
): ChatThread {
  const id = signal(opened);
  const name = signal<string | undefined>(undefined);
  const agent = signal<string | null | undefined>(opened === undefined ? null : undefined);
  const missing = signal<Missing | undefined>(undefined);
  const read = async (wanted: string): Promise<void> => {
    const thread = await client.threads.get(wanted, { signal: ended });
    name.value = nameOf(thread);
    agent.value = thread.agent;
  };
  return {
    ...{ id, name, agent, missing, read },
    ensure: async (wanted) => {
      try {
        await read(wanted);
      } catch (error) {
        if (isAbsent(error)) missing.value ??= 'deleted';
        throw error;
      }
    },
    leave: () => {
      for (const each of [id, name, missing]) each.value = undefined;
      agent.value = null;
    },
  };
}

/** What a thread is called. Where the service gives a title, it is the name, else the beginning of the first message. */
function nameOf({ thread_name: name, title }: Thread): string | undefined {
  const text = name ?? title;
  return typeof text === 'string' && text !== '' ? text : undefined;
}
