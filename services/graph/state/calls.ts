import { answeredCalls, isCall, type CallBlock, type Message } from '@agent-workflow/protos/message';

/**
 * The tool calls of a context that nobody has answered, in order. Calls are answered before the conversation goes on, so
 * only the last message that calls anything can have open ones, and what is read is the context's end.
 */
export function openCalls(context: readonly Message[]): readonly CallBlock[] {
  const caller = lastCaller(context);
  if (caller === undefined) return [];
  const answered = new Set(context.slice(caller + 1).flatMap(answeredCalls));
  return context[caller]?.content.filter(isCall).filter(({ id }) => !answered.has(id)) ?? [];
}

/** Whether the conversation waits for tools: what a conditional edge after the model asks. */
export const callsTools = (state: { readonly context: readonly Message[] }): boolean =>
  openCalls(state.context).length > 0;

/** The message that made the open calls, if there are any. */
export function callingMessage(context: readonly Message[]): Message | undefined {
  const caller = lastCaller(context);
  return caller === undefined ? undefined : context[caller];
}

/** Only tool messages may stand between a call and its answers: the search ends at the first of another kind. */
function lastCaller(context: readonly Message[]): number | undefined {
  for (let at = context.length - 1; at >= 0; at--) {
    const message = context[at];
    if (message?.role === 'tool') continue;
    return message?.role === 'assistant' && message.content.some(isCall) ? at : undefined;
  }
  return undefined;
}
