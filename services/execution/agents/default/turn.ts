import { isCall, textOf, type CallBlock, type Message } from '@agent-workflow/graph';

/** A call that was answered. */
export interface ToolResult {
  readonly call: CallBlock;
  readonly output: unknown;
  readonly isError: boolean;
}

/** What the conversation has come to. */
interface Turn {
  /** The text of the user since the last message of the agent. */
  readonly text: string;
  /** What the calls gave that the agent made last, when nobody has spoken since. */
  readonly results: readonly ToolResult[];
}

/** Reads the end of a conversation: all that stands after the agent's last message, and the calls in that. */
export function readTurn(context: readonly Message[]): Turn {
  const last = context.findLastIndex(({ role }) => role === 'assistant');
  const since = context.slice(last + 1);
  const texts = since.filter(({ role }) => role === 'user').map(textOf);
  if (texts.length > 0) return { text: texts.join('\n'), results: [] };
  return { text: '', results: answersTo(context[last]?.content.filter(isCall) ?? [], since) };
}

function answersTo(calls: readonly CallBlock[], messages: readonly Message[]): readonly ToolResult[] {
  // Of several answers to one call the first counts.
  const blocks = messages.flatMap(({ content }) => content).toReversed();
  const answers = new Map(blocks.map((block) => [block['call_id'], block]));
  return calls.flatMap((call) => {
    const answer = answers.get(call.id);
    return answer ? [{ call, output: answer['output'], isError: answer['is_error'] === true }] : [];
  });
}
