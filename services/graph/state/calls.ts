import { answeredCalls, isCall, type CallBlock, type Message } from '@agent-workflow/protos/message';

/**
 * The unanswered tool calls of a context, in order. Calls are answered before the conversation continues, so only the last message with
 * calls can have unanswered ones, and only the end of the context is read.
 */
export function openCalls(context: readonly Message[]): readonly CallBlock[] {
  const caller = lastCaller(context);
  if (caller === undefined) return [];
  const answered = new Set(context.slice(caller + 1).flatMap(answeredCalls));
  return context[caller]?.content.filter(isCall).filter(({ id }) => !answered.has(id)) ?? [];
}

/** Whether the context has unanswered tool calls. Made for the conditional edge after the model. */
export const callsTools = (state: { readonly context: readonly Message[] }): boolean =>
  openCalls(state.context).length > 0;

/** The message that made the open calls, if there are any. */
export function callingMessage(context: readonly Message[]): Message | undefined {
  const caller = lastCaller(context);
  return caller === undefined ? undefined : context[caller];
}

/** Only tool messages stand between a call and its results, so the search ends at the first other message. */
function lastCaller(context: readonly Message[]): number | undefined {
  for (let at = context.length - 1; at >= 0; at--) {
    const message = context[at];
    if (message?.role === 'tool') continue;
    return message?.role === 'assistant' && message.content.some(isCall) ? at : undefined;
  }
  return undefined;
}
