import { newId } from '@agent-workflow/kit/ids';
import { answeredCalls, type CallBlock, type Message } from '@agent-workflow/protos/message';

interface Turn {
  /** How the turn before ended; absent in a new thread. */
  readonly before: { readonly openCalls: readonly CallBlock[] } | undefined;
  readonly input: readonly Message[];
  /** Whether questions are answered. */
  readonly isAnswer: boolean;
}

/**
 * What a turn adds to the context, and whether it begins at START though the turn before waits. As in the service, a message of a user
 * that answers nothing cancels the open calls and drops the open questions; what the step before holds comes between `cancelled` and `added`.
 */
export function readTurn({ before, input, isAnswer }: Turn): {
  readonly cancelled: readonly Message[];
  readonly added: readonly Message[];
  readonly beginsAnew: boolean;
} {
  const isNew = input.some(({ role }) => role !== 'tool');
  const results = input.filter(({ role }) => role === 'tool');
  if (!before || !isNew || isAnswer) return { cancelled: [], added: input, beginsAnew: false };
  const answered = new Set(results.flatMap(answeredCalls));
  const open = before.openCalls.filter(({ id }) => !answered.has(id));
  return {
    cancelled: open.map(cancellation),
    added: input,
    beginsAnew: results.length === 0 || open.length > 0,
  };
}

const cancellation = ({ id, name }: CallBlock): Message => ({
  message_id: newId(),
  role: 'tool',
  content: [
    {
      ...{ type: 'tool_result', call_id: id, output: `The call of ${name} was cancelled.` },
      ...{ status: 'cancelled', is_error: true },
    },
  ],
  timestamp: new Date().toISOString(),
});
