import type { RunEvent } from '@agent-workflow/protos/execution';
import { isCall, type Block, type Message } from '@agent-workflow/protos/message';
import { jsonText } from '../../../http/json.ts';
import { toPart } from '../messages/parts.ts';
import { toLangChain } from '../messages/to-langchain.ts';

/** The block that is under way: text, or what a model thinks. */
interface OpenBlock {
  readonly type: 'text' | 'reasoning';
  /** The inner of a JSON string: what stands between its quotes. */
  text: string;
}

/** A message of which a part has come. */
interface OpenMessage {
  /** Of the block that is under way, or of the last one. */
  index: number;
  block: OpenBlock | undefined;
}

const roles: Readonly<Record<string, string>> = { assistant: 'ai', user: 'human', system: 'system' };

/**
 * Makes the events of messages, as JSON: a message has a start, blocks one after the other, and an end. Each names its message as `run_id`,
 * by which clients keep messages apart that a node streams at the same time. The results of tools are events of tools.
 */
export function createMessageEvents(): (event: RunEvent) => string[] {
  const open = new Map<string, OpenMessage>();

  return ({ messageId: id, role = '', data, message }: RunEvent): string[] => {
    const shownRole = roles[role];
    if (id === undefined || shownRole === undefined) return [];
    const of = `"run_id":${JSON.stringify(id)}`;
    const made: string[] = [];
    const begun = open.get(id);
    const growing: OpenMessage = begun ?? { index: -1, block: undefined };
    if (!begun) {
      open.set(id, growing);
      made.push(`{"event":"message-start","role":"${shownRole}","id":${JSON.stringify(id)},${of}}`);
    }
    const about = (event: string): string => `{"event":"content-block-${event}","index":${String(growing.index)},${of}`;
    const finish = (): void => {
      const { block } = growing;
      if (block)
        made.push(`${about('finish')},"content":{"type":"${block.type}","${fieldOf[block.type]}":"${block.text}"}}`);
      growing.block = undefined;
    };
    /** `json` is a JSON string. */
    const grow = (type: OpenBlock['type'], json: string): void => {
      if (growing.block?.type !== type) {
        finish();
        growing.index += 1;
        growing.block = { type, text: '' };
        made.push(`${about('start')},"content":{"type":"${type}","${fieldOf[type]}":""}}`);
      }
      growing.block.text += json.slice(1, -1);
      made.push(`${about('delta')},"delta":{"type":"${type}-delta","${fieldOf[type]}":${json}}}`);
    };

    if (message) {
      finish();
      open.delete(id);
      made.push(`{"event":"message-finish",${of}${endingOf(JSON.parse(jsonText(message)) as Message)}}`);
      return made;
    }
    const json = jsonText(data);
    if (json.startsWith('"')) {
      if (json !== '""') grow('text', json);
      return made;
    }
    const block = JSON.parse(json) as Block;
    const { text } = block;
    if ((block.type === 'text' || block.type === 'reasoning') && typeof text === 'string') {
      grow(block.type, JSON.stringify(text));
      return made;
    }
    finish();
    growing.index += 1;
    const { start, end } = blockOf(block);
    made.push(
      `${about('start')},"content":${JSON.stringify(start)}}`,
      `${about('finish')},"content":${JSON.stringify(end)}}`,
    );
    return made;
  };
}

/** Where a block has its text. */
const fieldOf: Readonly<Record<OpenBlock['type'], string>> = { text: 'text', reasoning: 'reasoning' };

/** A block that comes whole: as it begins, and as it ends. */
function blockOf(block: Block): { readonly start: object; readonly end: object } {
  if (!isCall(block)) return { start: toPart(block), end: toPart(block) };
  const { id, name, args } = block;
  return {
    start: { type: 'tool_call_chunk', id, name, args: JSON.stringify(args) },
    end: { type: 'tool_call', id, name, args },
  };
}

/** What the end of a message says: the tokens, and why it ended. */
function endingOf(message: Message): string {
  const [made] = toLangChain({ ...message, content: [] });
  const { usage_metadata: usage, response_metadata: metadata = {} } = made ?? {};
  const { finish_reason: reason } = metadata;
  return [
    usage ? `,"usage":${JSON.stringify(usage)}` : '',
    typeof reason === 'string' ? `,"reason":${JSON.stringify(reason)}` : '',
    Object.keys(metadata).length > 0 ? `,"metadata":${JSON.stringify(metadata)}` : '',
  ].join('');
}
