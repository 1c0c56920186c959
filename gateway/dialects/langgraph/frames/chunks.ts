import { isCall, type Block, type Message } from '@agent-workflow/protos/message';
import { toLangChain } from '../messages/to-langchain.ts';

/** What a chunk of a model's message holds: a text as JSON, or a block. */
interface Delta {
  readonly id: string;
  /** JSON of a text, or of a block. */
  readonly json: string;
  /** The number of the call in its message. */
  readonly callIndex: number;
}

const beforeId = '"additional_kwargs":{},"response_metadata":{},"type":"AIMessageChunk","name":null,"id":';
const afterId =
  ',"tool_calls":[],"invalid_tool_calls":[],"usage_metadata":null,"tool_call_chunks":[],"chunk_position":null}';

/** A chunk of a model's message as JSON of an `AIMessageChunk`. */
export function chunkText({ id, json, callIndex }: Delta): string {
  if (json.startsWith('"')) return `${beforeText}${json}${afterText(id)}`;
  return JSON.stringify({ ...emptyChunk(id), ...ofBlock(JSON.parse(json) as Block, callIndex) });
}

/** What stands in an `AIMessageChunk` of a text before and after the JSON of the text. */
export const beforeText = '{"content":';
export const afterText = (id: string): string => `,${beforeId}${JSON.stringify(id)}${afterId}`;

const emptyChunk = (id: string) => ({
  content: '' as unknown,
  additional_kwargs: {},
  response_metadata: {},
  type: 'AIMessageChunk',
  name: null,
  id,
  tool_calls: [] as unknown[],
  invalid_tool_calls: [] as unknown[],
  usage_metadata: null as unknown,
  tool_call_chunks: [] as unknown[],
  chunk_position: null as unknown,
});

function ofBlock(block: Block, index: number): object {
  const { type, text } = block;
  if (type === 'text' && typeof text === 'string') return { content: text };
  if (type === 'reasoning' && typeof text === 'string') return { additional_kwargs: { reasoning_content: text } };
  const [made] = toLangChain({ message_id: '', role: 'assistant', content: [block], timestamp: '' });
  if (!isCall(block)) return { content: made?.content ?? '' };
  const [call] = made?.tool_calls ?? [];
  const { id, name, args } = block;
  return {
    tool_calls: call ? [call] : [],
    tool_call_chunks: [{ name, args: JSON.stringify(args), id, index, type: 'tool_call_chunk' }],
  };
}

/** What a whole message says beside its chunks, as a last chunk: tokens, and why it ended. `undefined`: nothing. */
export function lastChunkText(message: Message): string | undefined {
  const [made] = toLangChain({ ...message, content: [] });
  if (!made || (made.usage_metadata === null && Object.keys(made.response_metadata).length === 0)) return undefined;
  return JSON.stringify({
    ...emptyChunk(message.message_id),
    name: made.name,
    response_metadata: made.response_metadata,
    usage_metadata: made.usage_metadata,
    chunk_position: 'last',
  });
}

export const isCallJson = (json: string): boolean => json.startsWith('{') && isCall(JSON.parse(json) as Block);
