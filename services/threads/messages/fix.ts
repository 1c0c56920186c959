import { setImmediate as nextTurn } from 'node:timers/promises';
import { answeredCalls, callsOf, type Message } from '@agent-workflow/protos/message';
import { fromJson } from '../record/json.ts';
import type { Decision, Head, Snapshot, ThreadKey, ThreadStore } from '../ports/port.ts';
import { overtaken, writableHead } from '../state/state.ts';
import { withCheckpoint } from '../history/undo.ts';

/** What is wrong with a context: messages whose calls nobody answered, and answers to other calls of theirs. */
export interface Broken {
  readonly callers: readonly string[];
  readonly answers: readonly string[];
  /** Of the thread that was looked at. */
  readonly version: number;
}

/** Finds what a model would refuse in a conversation: calls without an answer. */
export async function findBroken(
  store: ThreadStore,
  key: ThreadKey,
  { version }: Pick<Head, 'version'>,
): Promise<Broken> {
  const messages = await readLinks(store, key);
  const answered = new Set(messages.flatMap(({ answers }) => answers));
  const callers = messages.filter(({ calls }) => calls.some((id) => !answered.has(id)));
  const lost = new Set(callers.flatMap(({ calls }) => calls));
  const answers = messages.filter((message) => message.answers.some((id) => lost.has(id)));
  return { callers: callers.map(({ id }) => id), answers: answers.map(({ id }) => id), version };
}

/** Which calls a message makes as an assistant's, and which it answers. */
interface Links {
  readonly id: string;
  readonly calls: readonly string[];
  readonly answers: readonly string[];
}

/** Bytes of a context that are parsed before others have their turn. */
const parsedAtOnce = 2 * 1024 * 1024;

/** The messages of the context that make calls or answer some, in order of the log. */
async function readLinks(store: ThreadStore, key: ThreadKey): Promise<readonly Links[]> {
  let links: readonly Links[] = [];
  for (let below: number | undefined; below !== 0;) {
    const { entries, bottom } = await store.listContext(key, {
      maxBytes: parsedAtOnce,
      ...(below === undefined ? {} : { below }),
    });
    links = [...entries.map(({ json }) => toLinks(fromJson(json) as Message)).filter(hasLinks), ...links];
    below = bottom;
    await nextTurn();
  }
  return links;
}

const toLinks = (message: Message): Links => ({
  id: message.message_id,
  calls: message.role === 'assistant' ? callsOf(message) : [],
  answers: answeredCalls(message),
});

const hasLinks = ({ calls, answers }: Links): boolean => calls.length + answers.length > 0;

/**
 * Removes what is broken, and lets nobody wait for its answers any more.
 * @throws Conflict when the thread has changed since it was looked at: a call may have been answered.
 */
export function decideFix(
  threadId: string,
  { callers, answers, version }: Broken,
  snapshot: Snapshot,
  now: number,
): Decision<number> {
  const before = writableHead(snapshot, threadId);
  const { interruptedRun: _, progress: _progress, ...head } = before;
  const deleted = [...callers, ...answers].flatMap((id) => snapshot.entries.get(id)?.position ?? []);
  if (deleted.length === 0) return { reply: 0 };
  if (before.version !== version) throw overtaken(threadId);
  const fixed: Head = {
    ...head,
    version: head.version + 1,
    updatedAt: now,
    openCalls: [],
    openInterrupts: [],
    next: [],
  };
  return {
    change: withCheckpoint({ head: fixed, deleted }, before, snapshot, { source: 'update', nodes: [], at: now }),
    reply: callers.filter((id) => snapshot.entries.has(id)).length,
  };
}
