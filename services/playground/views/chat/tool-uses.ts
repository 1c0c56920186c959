import type { Block } from '@agent-workflow/client';
import { textAt } from './blocks.ts';
import type { Conversation } from './conversation.ts';

/** A call of a tool and what it gave, as far as the page knows both. */
export interface ToolUse {
  readonly name: string;
  readonly args?: unknown;
  readonly result?: { readonly output: unknown; readonly isError: boolean };
  /** From the call to its result, in milliseconds. */
  readonly ms?: number;
  /** Whether the caller runs the tool: then the time is mostly that of a person. */
  readonly isRemote?: boolean;
}

/** What is known of a call. The time counts from when the message that calls was whole, or from the event of the call. */
export function toolUseOf({ calls, results }: Conversation, block: Block): ToolUse {
  const id = textAt(block, 'id');
  const result = results.get(id);
  const isRemote = block.type === 'remote_tool_call';
  const ms = result && Date.parse(result.at) - Date.parse(calls.get(id)?.at ?? '');
  return {
    name: textAt(block, 'name'),
    args: block['args'],
    isRemote,
    ...(result && { result: { output: result.block['output'], isError: result.block['is_error'] === true } }),
    ...(ms !== undefined && ms >= 0 && !isRemote && { ms }),
  };
}
