import { newId } from '@agent-workflow/kit/ids';
import { textOf, type CallBlock, type Message } from '@agent-workflow/protos/message';
import { refuseUnknown, requireObject } from '../state/refuse-unknown.ts';

/** A message of a user, with an id of its own. */
export const user = (text: string): Message => ({
  message_id: newId(),
  role: 'user',
  content: [{ type: 'text', text }],
  timestamp: new Date().toISOString(),
});

/**
 * The message with which a caller answers a call of a remote tool; `walked.openCalls` gives the calls. `output` must be
 * JSON.
 */
export function toolResult(
  call: Pick<CallBlock, 'id'>,
  output: unknown,
  options: { readonly isError?: boolean } = {},
): Message {
  requireObject('the call that toolResult answers', call);
  refuseUnknown('what toolResult is given', '', options, { isError: true });
  const { isError = false } = options;
  const status = isError ? 'error' : 'completed';
  return {
    message_id: newId(),
    role: 'tool',
    content: [{ type: 'tool_result', call_id: call.id, output, status, is_error: isError }],
    timestamp: new Date().toISOString(),
  };
}

/** The text of the last message after a walk; empty when there is none. */
export function lastText(walked: { readonly state: { readonly context: readonly Message[] } }): string {
  requireObject('what lastText is given', walked);
  const last = walked.state.context.at(-1);
  return last ? textOf(last) : '';
}
