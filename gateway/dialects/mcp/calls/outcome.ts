import type { AddressOf } from '../../common/file-addresses.ts';
import type { Fields } from '../wire/fields.ts';
import type { Client } from '../wire/client.ts';
import { cached } from '../wire/reply.ts';
import { errorBody, RpcError, rpcCodes } from '../wire/rpc-error.ts';
import type { Asked } from './asked.ts';
import { contentOf, contentsOf, promptOf, structuredOf } from './content.ts';
import type { RunEnd } from './run-end.ts';

/** What a reply to a call holds: its result, or an error of the protocol. */
type Outcome = { readonly result: Fields } | { readonly error: Fields };

interface Ended {
  readonly asked: Pick<Asked, 'method' | 'name' | 'isAgent' | 'mimeType' | 'isStructured'>;
  readonly runId: string;
  readonly threadId: string;
  readonly addressOf: AddressOf;
}

/** Texts of state that a model is shown beside the answer, in characters. */
const mostState = 64 * 1024;

/** What came of a run that asks nothing. */
export function toOutcome(end: Exclude<RunEnd, { readonly kind: 'asks' }>, ended: Ended): Outcome {
  const { asked, addressOf } = ended;
  const isTool = asked.method === 'tools/call';
  if (end.kind === 'failed')
    return isTool && end.isOfNode
      ? { result: toolError(end.message) }
      : { error: errorBody(new RpcError(rpcCodes.internal, end.message)) };
  if (end.kind === 'waits') return fault(isTool, whyItWaits(end.calls));
  if (end.kind === 'stopped') return fault(isTool, 'the run was stopped');
  if (asked.method === 'prompts/get') return { result: { messages: promptOf(end.messages, addressOf) } };
  if (asked.method === 'resources/read')
    return { result: { contents: contentsOf(end.messages, asked.name, asked.mimeType) } };
  return { result: asked.isAgent ? agentResult(end, ended) : toolResult(end, ended) };
}

/** A result as its client gets it: what is read of a resource may be kept for a while. */
export const shownResult = (
  result: Fields,
  { method }: Pick<Asked, 'method'>,
  client: Pick<Client, 'isModern'>,
): Fields => (method === 'resources/read' ? cached(result, client) : result);

/** A call that has failed is a result: its model reads why. */
export const toolError = (message: string): Fields => ({ content: [{ type: 'text', text: message }], isError: true });

const fault = (isTool: boolean, message: string): Outcome =>
  isTool ? { result: toolError(message) } : { error: errorBody(new RpcError(rpcCodes.internal, message)) };

const whyItWaits = (calls: readonly string[]): string =>
  calls.length > 0
    ? `the agent waits for tools that its caller must run: ${calls.join(', ')}`
    : 'the agent stands before a node until it is let go on';

type Completed = Extract<RunEnd, { readonly kind: 'completed' | 'stopped' }>;

function toolResult({ messages }: Completed, { asked: { isStructured }, addressOf }: Ended): Fields {
  const structured = structuredOf(messages);
  const { content } = contentOf(messages, addressOf);
  const isError = messages.at(-1)?.content.some(({ type }) => type === 'error') === true;
  // Clients take no success without what the schema promises.
  if (isStructured && !structured && !isError)
    return toolError('the tool has an outputSchema, and gave no structured content');
  return {
    content: content.length === 0 && structured ? [{ type: 'text', text: JSON.stringify(structured) }] : content,
    ...(structured && { structuredContent: structured }),
    ...(isError && { isError }),
  };
}

function agentResult({ messages, state }: Completed, { threadId, runId, addressOf }: Ended): Fields {
  const { content, text } = contentOf(messages, addressOf);
  const isShort = JSON.stringify(state).length <= mostState;
  return {
    content,
    structuredContent: { text, thread_id: threadId, run_id: runId, ...(isShort && { state }) },
  };
}
