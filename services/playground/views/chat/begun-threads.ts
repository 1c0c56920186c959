import { readMark } from '../../session/route.ts';

/** The threads that new chats have begun, by the marks of the history entries of these chats: a reader may have left a chat before it had its thread. */
const begunAt = new Map<string, string>();

/** Notes which thread was begun by a new chat at a marked entry of the history. */
export function noteBegun(mark: string, threadId: string): void {
  begunAt.set(mark, threadId);
}

/** The thread that was begun by a new chat at the open entry of the history; `undefined` where there was none. */
export const threadBegunHere = (): string | undefined => begunAt.get(readMark() ?? '');
