import { answeredCalls, callsOf, type Message } from '@agent-workflow/protos/message';
import { fromJson } from './json.ts';
import type { Decision, Head, Snapshot } from './port.ts';
import { writableHead } from './state.ts';
import { withCheckpoint } from './undo.ts';

/** What is wrong with a context: messages whose calls nobody answered, and answers to other calls of theirs. */
export interface Broken {
  readonly callers: readonly string[];
  readonly answers: readonly string[];
}

/** Finds what a model would refuse in a conversation: calls without an answer. */
export function findBroken(context: readonly Uint8Array[]): Broken {
  const messages = context.map((json) => fromJson(json) as Message);
  const answered = new Set(messages.flatMap(answeredCalls));
  const callers = messages.filter(
    ({ role, content }) => role === 'assistant' && callsOf({ content }).some((id) => !answered.has(id)),
  );
  const lost = new Set(callers.flatMap(callsOf));
  const answers = messages.filter((message) => answeredCalls(message).some((id) => lost.has(id)));
  return { callers: callers.map(idOf), answers: answers.map(idOf) };
}

const idOf = ({ message_id: id }: Message): string => id;

/** Removes what is broken, and lets nobody wait for its answers any more. */
export function decideFix(
  threadId: string,
  { callers, answers }: Broken,
  snapshot: Snapshot,
  now: number,
): Decision<number> {
  const before = writableHead(snapshot, threadId);
  const { interruptedRun: _, progress: _progress, ...head } = before;
  const deleted = [...callers, ...answers].flatMap((id) => snapshot.entries.get(id)?.position ?? []);
  if (deleted.length === 0) return { reply: 0 };
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
