import type { RunEvent } from '@agent-workflow/protos/execution';
import { textOf, type Block, type Message } from '@agent-workflow/protos/message';
import { jsonText } from '../../../http/json.ts';
import type { AddressOf } from '../../common/file-addresses.ts';
import { linked } from '../messages/linked.ts';
import { resultIn, thoughtOf, type RunResult } from '../out/run-result.ts';
import type { Failure } from '../replies/refusal.ts';

/** What happens in a run, as far as its caller reads it: one message of the assistant after the other. */
export type AnswerEvent =
  | { readonly type: 'begun' }
  | { readonly type: 'text' | 'reasoning'; readonly messageId: string; readonly text: string }
  /** A message is whole. */
  | { readonly type: 'whole'; readonly messageId: string }
  /** What came of a message counts no longer: its node begins again, or the run was stopped. */
  | { readonly type: 'left'; readonly messageId: string }
  | { readonly type: 'ended'; readonly result: RunResult }
  | { readonly type: 'failed'; readonly failure: Failure };

interface Open {
  readonly messageId: string;
  readonly node: string | undefined;
  /** Characters of text and of reasoning that have come. */
  text: number;
  reasoning: number;
}

/**
 * Reads what the events of a run mean to its caller, from the first. Of messages that come at the same time one comes at once, and the others when
 * they are whole. It remembers ids and lengths, and no text.
 */
export function createAnswerReader(addressOf: AddressOf): (event: RunEvent) => AnswerEvent[] {
  let open: Open | undefined;
  /** Messages that come when they are whole. */
  const late = new Set<string>();

  const leave = (): AnswerEvent[] => {
    if (!open) return [];
    const { messageId } = open;
    late.add(messageId);
    open = undefined;
    return [{ type: 'left', messageId }];
  };

  const chunk = ({ messageId, role, node, data }: RunEvent): AnswerEvent[] => {
    if (messageId === undefined || role !== 'assistant' || late.has(messageId)) return [];
    if (open && open.messageId !== messageId) {
      late.add(messageId);
      return [];
    }
    const given = JSON.parse(jsonText(data)) as string | Block;
    const { type, text } = typeof given === 'string' ? { type: 'text', text: given } : given;
    if ((type !== 'text' && type !== 'reasoning') || typeof text !== 'string' || text === '') return [];
    open ??= { messageId, node, text: 0, reasoning: 0 };
    open[type] += text.length;
    return [{ type, messageId, text }];
  };

  const whole = (message: Message): AnswerEvent[] => {
    const { message_id: messageId, role } = message;
    if (role !== 'assistant') return [];
    const isOpen = open?.messageId === messageId;
    const { text, reasoning } = isOpen && open ? open : { text: 0, reasoning: 0 };
    if (isOpen) open = undefined;
    late.delete(messageId);
    const parts: AnswerEvent[] = (
      [
        ['reasoning', thoughtOf(message).slice(reasoning)],
        ['text', textOf(message).slice(text)],
      ] as const
    ).flatMap(([type, rest]) => (rest === '' ? [] : [{ type, messageId, text: rest }]));
    return isOpen || parts.length > 0 ? [...parts, { type: 'whole', messageId }] : [];
  };

  const progress = (event: RunEvent): AnswerEvent[] => {
    const { node, status } = JSON.parse(jsonText(event.data)) as { readonly node: string; readonly status: string };
    return status === 'restarted' && open && (open.node ?? node) === node ? leave() : [];
  };

  return (event) => {
    switch (event.kind) {
      case 'metadata':
        return [{ type: 'begun' }];
      case 'messages_chunk':
        return event.message ? whole(linked(JSON.parse(jsonText(event.message)) as Message, addressOf)) : chunk(event);
      case 'on_chain_stream':
        return progress(event);
      case 'on_chain_end':
      case 'error': {
        const result = resultIn(event, addressOf);
        const last: AnswerEvent =
          'failure' in result ? { type: 'failed', failure: result.failure } : { type: 'ended', result };
        return [...leave(), last];
      }
      default:
        return [];
    }
  };
}
