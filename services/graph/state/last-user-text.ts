import { textOf, type Message } from '@agent-workflow/protos/message';

/** The text of the newest message of the user; empty when there is none. */
export function lastUserText({ context }: { readonly context: readonly Message[] }): string {
  const last = context.findLast(({ role }) => role === 'user');
  return last ? textOf(last) : '';
}
