import type { RunEvent } from '@agent-workflow/protos/execution';
import type { AddressOf } from '../../common/file-addresses.ts';
import { callItem, messageItem, outputText, reasoningItem, type ItemStatus } from '../out/items.ts';
import { statusOf, toResponse, type Progress, type ResponseFacts } from '../out/response.ts';
import type { RunResult } from '../out/run-result.ts';
import { createAnswerReader, type AnswerEvent } from './answer-events.ts';

/** An event of a response. */
interface ResponseEvent {
  readonly type: string;
  /** From 0, without gaps. */
  readonly sequence_number: number;
  readonly [field: string]: unknown;
}

type Unnumbered = Omit<ResponseEvent, 'sequence_number'> & { readonly type: string };

/** An item that grows. */
interface OpenItem {
  readonly kind: 'text' | 'reasoning';
  readonly messageId: string;
  readonly index: number;
  text: string;
}

/** How the events of each kind of item are called, and what it looks like. */
const kinds = {
  text: { delta: 'response.output_text', toItem: messageItem, toPart: outputText, more: { logprobs: [] } },
  reasoning: {
    delta: 'response.reasoning_text',
    toItem: reasoningItem,
    toPart: (text: string) => ({ type: 'reasoning_text', text }),
    more: {},
  },
} as const;

/**
 * Makes the events of a response from those of its run. They depend on the run alone, so that each has the same number on every replica and in every
 * replay. Of what has come it keeps the text of one item.
 */
export function createResponseFrames(readFacts: () => Promise<ResponseFacts>, addressOf: AddressOf) {
  const read = createAnswerReader(addressOf);
  let facts: ResponseFacts | undefined;
  let count = 0;
  let items = 0;
  let open: OpenItem | undefined;

  const respond = (type: string, known: ResponseFacts, progress: Progress): Unnumbered => ({
    type: `response.${type}`,
    response: toResponse(known, progress),
  });

  const begin = (kind: OpenItem['kind'], messageId: string): Unnumbered[] => {
    open = { kind, messageId, index: items, text: '' };
    items += 1;
    const { toItem, toPart } = kinds[kind];
    const item = toItem(messageId, undefined, 'in_progress');
    return [
      { type: 'response.output_item.added', output_index: open.index, item },
      { type: 'response.content_part.added', ...placeOf(item, open), part: toPart('') },
    ];
  };

  const close = (status: ItemStatus): Unnumbered[] => {
    if (!open) return [];
    const { kind, messageId, index, text } = open;
    const { delta, toItem, toPart, more } = kinds[kind];
    const item = toItem(messageId, text, status);
    const place = placeOf(item, open);
    open = undefined;
    return [
      { type: `${delta}.done`, ...place, text, ...more },
      { type: 'response.content_part.done', ...place, part: toPart(text) },
      { type: 'response.output_item.done', output_index: index, item },
    ];
  };

  const grow = (kind: OpenItem['kind'], messageId: string, text: string): Unnumbered[] => {
    const isSame = open?.kind === kind && open.messageId === messageId;
    const before = isSame ? [] : [...close('completed'), ...begin(kind, messageId)];
    if (!open) return before;
    open.text += text;
    const { delta, toItem, more } = kinds[kind];
    const place = placeOf(toItem(messageId, undefined, 'in_progress'), open);
    return [...before, { type: `${delta}.delta`, ...place, delta: text, ...more }];
  };

  const calls = (runId: string, { calls: asked }: RunResult): Unnumbered[] =>
    asked.flatMap((call, index): Unnumbered[] => {
      const place = { output_index: items };
      items += 1;
      const item = callItem(runId, index, call, 'completed');
      const inItem = { ...place, item_id: item['id'] };
      return [
        { type: 'response.output_item.added', ...place, item: callItem(runId, index, call, 'in_progress') },
        { type: 'response.function_call_arguments.delta', ...inItem, delta: call.arguments },
        { type: 'response.function_call_arguments.done', ...inItem, name: call.name, arguments: call.arguments },
        { type: 'response.output_item.done', ...place, item },
      ];
    });

  const eventsOf = (part: AnswerEvent, known: ResponseFacts, at: number): Unnumbered[] => {
    switch (part.type) {
      case 'begun':
        return ['created', 'in_progress'].map((type) => respond(type, known, { status: 'in_progress' }));
      case 'text':
      case 'reasoning':
        return grow(part.type, part.messageId, part.text);
      case 'whole':
        return close('completed');
      case 'left':
        return close('incomplete');
      case 'failed':
        return [respond('failed', known, { status: 'failed', failure: part.failure, endedAt: at })];
      case 'ended': {
        const status = statusOf(part.result);
        const last = respond(status === 'completed' ? 'completed' : 'incomplete', known, {
          ...{ status, result: part.result, endedAt: at },
        });
        return [...calls(known.run.runId, part.result), last];
      }
    }
  };

  return async (event: RunEvent): Promise<readonly ResponseEvent[]> => {
    const known = (facts ??= await readFacts());
    return read(event)
      .flatMap((part) => eventsOf(part, known, event.at))
      .map(({ type, ...rest }) => ({ type, sequence_number: count++, ...rest }));
  };
}

const placeOf = (item: Readonly<Record<string, unknown>>, { index }: OpenItem) => ({
  ...{ item_id: item['id'], output_index: index, content_index: 0 },
});
