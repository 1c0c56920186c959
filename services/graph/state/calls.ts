import {
  answeredCalls,
  isCall,
  type Block,
  type CallBlock,
  type Message,
  textOf,
} from '@agent-workflow/protos/message';

/**
 * The unanswered tool calls at the end of a context, in order. Calls are answered before the conversation continues, so those of the last
 * message with calls are read alone; what runs side by side may leave more of them open, which `allOpenCalls` adds.
 */
export function openCalls(context: readonly Message[]): readonly CallBlock[] {
  const caller = lastCaller(context);
  if (caller === undefined) return [];
  const answered = new Set(context.slice(caller + 1).flatMap(answeredCalls));
  return context[caller]?.content.filter(isCall).filter(({ id }) => !answered.has(id)) ?? [];
}

/**
 * Whether the model waits for results of its tool calls: the context has unanswered ones, or it ends with the answers of calls that
 * were cut. Made for the conditional edge after the model.
 */
export const callsTools = ({ context }: { readonly context: readonly Message[] }): boolean =>
  openCalls(context).length > 0 || endsWithCutCalls(context);

/** A model node answers the calls that were cut itself: the model may try again. */
function endsWithCutCalls(context: readonly Message[]): boolean {
  const caller = context[lastCaller(context) ?? -1];
  return context.at(-1)?.role === 'tool' && caller?.content.some(({ cut }) => cut === true) === true;
}

/** The open calls at the end of a context, and those for which nodes wait, each once. */
export function allOpenCalls(context: readonly Message[], waited: readonly CallBlock[]): readonly CallBlock[] {
  const calls = [...waited, ...openCalls(context)];
  return [...new Map(calls.map((call) => [call.id, call])).values()];
}

/**
 * The messages since the newest one of the user that call remote tools and have no answer yet, each without its answered remote calls.
 * Branches of a fan-out make several.
 */
export function openRemoteCalls(context: readonly Message[]): readonly Message[] {
  const turn = context.slice(context.findLastIndex(({ role }) => role === 'user') + 1);
  const answered = new Set(turn.flatMap(answeredCalls));
  const isOpen = (block: Block): boolean => block.type === 'remote_tool_call' && !answered.has(String(block['id']));
  return turn
    .filter(({ role, content }) => role === 'assistant' && content.some(isOpen))
    .map((message) => ({
      ...message,
      content: message.content.filter((block) => block.type !== 'remote_tool_call' || isOpen(block)),
    }));
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

/** The text of the newest message of the user; empty when there is none. */
export function lastUserText({ context }: { readonly context: readonly Message[] }): string {
  const last = context.findLast(({ role }) => role === 'user');
  return last ? textOf(last) : '';
}
