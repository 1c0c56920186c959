import type { RunEvent } from '@agent-workflow/protos/execution';
import { isCall, type Block, type Message } from '@agent-workflow/protos/message';
import { jsonText } from '../../../http/json.ts';
import { outputText, resultId, thoughtId, thoughtIn } from '../messages/to-agui.ts';
import type { AguiEvent } from './framing.ts';

interface Growing {
  readonly id: string;
  readonly role: string;
  /** The sub-agent that writes it, on the events that begin something of it. */
  readonly by: { readonly subagentRunId?: string };
  hasText: boolean;
  isThinking: boolean;
  thoughts: number;
}

/** The events of the messages of a run. */
interface MessageEvents {
  /** Of a chunk, or of a message that is complete; `subagentRunId`: of the sub-agent that writes it. */
  readonly of: (event: RunEvent, subagentRunId?: string) => AguiEvent[];
  /** Ends what is under way: of a node whose step runs again, or of all. Whether a message is left incomplete is known then. */
  readonly close: (timestamp: number) => { readonly events: AguiEvent[]; readonly isCut: boolean };
}

/** Makes the events of messages: text and thoughts as they come, calls and results when they are whole. A message that was not streamed comes when it is complete. */
export function createMessageEvents(): MessageEvents {
  const growing = new Map<string, Growing>();

  const endThought = (message: Growing, timestamp: number): AguiEvent[] => {
    if (!message.isThinking) return [];
    message.isThinking = false;
    const messageId = thoughtId(message.id, message.thoughts - 1);
    return [
      { type: 'REASONING_MESSAGE_END', timestamp, messageId },
      { type: 'REASONING_END', timestamp, messageId },
    ];
  };

  /** A text stays open until its message ends, also where a thought or a call stands within. */
  const end = (message: Growing, timestamp: number): AguiEvent[] => [
    ...endThought(message, timestamp),
    ...(message.hasText ? [{ type: 'TEXT_MESSAGE_END', timestamp, messageId: message.id }] : []),
  ];

  const addText = (message: Growing, delta: string, timestamp: number): AguiEvent[] => {
    const { id: messageId, role, hasText, by } = message;
    const before = endThought(message, timestamp);
    message.hasText = true;
    return [
      ...before,
      ...(hasText ? [] : [{ type: 'TEXT_MESSAGE_START', timestamp, messageId, role, ...by }]),
      ...(delta === '' ? [] : [{ type: 'TEXT_MESSAGE_CONTENT', timestamp, messageId, delta }]),
    ];
  };

  const addThought = (message: Growing, delta: string, timestamp: number): AguiEvent[] => {
    const isBegun = message.isThinking;
    if (!isBegun) message.thoughts += 1;
    message.isThinking = true;
    const messageId = thoughtId(message.id, message.thoughts - 1);
    return [
      ...(isBegun
        ? []
        : [
            { type: 'REASONING_START', timestamp, messageId, ...message.by },
            { type: 'REASONING_MESSAGE_START', timestamp, messageId, role: 'reasoning', ...message.by },
          ]),
      { type: 'REASONING_MESSAGE_CONTENT', timestamp, messageId, delta },
    ];
  };

  const ofBlock = (message: Growing, block: Block, timestamp: number): AguiEvent[] => {
    const { text } = block;
    if (block.type === 'text') return typeof text === 'string' && text !== '' ? addText(message, text, timestamp) : [];
    const thought = thoughtIn(block);
    if (thought !== undefined) return addThought(message, thought, timestamp);
    const before = endThought(message, timestamp);
    if (!isCall(block)) return block.type === 'reasoning' ? before : [...before, ofOther(message, block, timestamp)];
    const { id: toolCallId, name, args } = block;
    return [
      ...before,
      // The message is there before its calls, whose parent it is.
      ...(message.hasText ? [] : addText(message, '', timestamp)),
      {
        ...{ type: 'TOOL_CALL_START', timestamp, toolCallId, toolCallName: name, parentMessageId: message.id },
        ...message.by,
      },
      { type: 'TOOL_CALL_ARGS', timestamp, toolCallId, delta: JSON.stringify(args) },
      { type: 'TOOL_CALL_END', timestamp, toolCallId },
    ];
  };

  return {
    of: ({ messageId: id, role = 'assistant', data, message: whole, at }, subagentRunId) => {
      if (id === undefined) return [];
      if (role === 'tool') return whole ? resultsOf(JSON.parse(jsonText(whole)) as Message, at) : [];
      const known = growing.get(id);
      const by = subagentRunId === undefined ? {} : { subagentRunId };
      const message = known ?? { id, role, by, hasText: false, isThinking: false, thoughts: 0 };
      growing.set(id, message);
      if (!whole) {
        const chunk = JSON.parse(jsonText(data)) as string | Block;
        if (typeof chunk !== 'string') return ofBlock(message, chunk, at);
        return chunk === '' ? [] : addText(message, chunk, at);
      }
      const { content } = JSON.parse(jsonText(whole)) as Message;
      const missed = known ? [] : content.flatMap((block) => ofBlock(message, block, at));
      // A message without text, thought and call has its place all the same.
      const isBare = !known && missed.length === 0;
      const events = [...missed, ...(isBare ? addText(message, '', at) : []), ...end(message, at)];
      growing.delete(id);
      return events;
    },
    close: (timestamp) => {
      const isCut = growing.size > 0;
      const events = [...growing.values()].flatMap((message) => end(message, timestamp));
      growing.clear();
      return { events, isCut };
    },
  };
}

/** A block that no event of AG-UI has a place for. */
const ofOther = ({ id: messageId }: Growing, block: Block, timestamp: number): AguiEvent => ({
  ...{ type: 'CUSTOM', timestamp, name: 'message.content_block' },
  value: { messageId, block },
});

const resultsOf = ({ message_id: id, content }: Message, timestamp: number): AguiEvent[] =>
  content
    .filter(({ type }) => type === 'tool_result')
    .map((block, index) => ({
      ...{ type: 'TOOL_CALL_RESULT', timestamp, messageId: resultId(id, index), role: 'tool' },
      ...{ toolCallId: String(block['call_id']), content: outputText(block) },
    }));
