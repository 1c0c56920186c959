import { addressedOf, type Addressed } from '@agent-workflow/protos/addressed';
import type { AddressOf } from '../../common/file-addresses.ts';
import { argumentsText } from '../messages/call.ts';
import { linked } from '../messages/linked.ts';
import type { RunEvent } from '@agent-workflow/protos/execution';
import type { EndStatus } from '@agent-workflow/protos/lists';
import { isCall, textOf, type Message } from '@agent-workflow/protos/message';
import { dataOf } from '../../common/event-data.ts';
import { shownCallId } from '../ids/call-id.ts';
import type { Failure } from '../replies/refusal.ts';
import type { RunUsage } from './usage.ts';

/** A function that the caller is asked to call. */
export interface FunctionCall {
  /** As the caller sends it back. */
  readonly id: string;
  readonly name: string;
  /** JSON. */
  readonly arguments: string;
}

/** What a run has said and asked for. */
export interface RunResult {
  readonly status: Exclude<EndStatus, 'failed'>;
  /** The messages of the assistant that the run added, in order, without those that are calls alone. */
  readonly messages: readonly Message[];
  readonly calls: readonly FunctionCall[];
  readonly usage: RunUsage;
  /** Why the answer is not whole; absent: it is. */
  readonly cut?: 'length' | 'content_filter';
}

/** The name of the function by which an agent asks a person. */
const questionName = 'answer_question';

interface EndData {
  readonly messages: readonly Message[];
  readonly all_messages: readonly Message[];
  readonly recursion_limit_reached: boolean;
  readonly metadata: { readonly usage?: RunUsage };
  readonly meta: {
    readonly run_id: string;
    readonly status: RunResult['status'];
    readonly interrupts?: readonly Question[];
  };
}

interface Question extends Addressed {
  readonly id: string;
  readonly value?: unknown;
  readonly deadline?: string;
}

/** What the last event of a run says: its result, or why it failed. */
export function resultIn(event: RunEvent, addressOf: AddressOf): RunResult | { readonly failure: Failure } {
  const data = dataOf(event);
  return event.kind === 'on_chain_end' ? toResult(data as EndData, addressOf) : { failure: data as Failure };
}

function toResult(
  { messages, all_messages: all, recursion_limit_reached: isLong, metadata, meta }: EndData,
  addressOf: AddressOf,
): RunResult {
  const { run_id: runId, status, interrupts = [] } = meta;
  const answers = all
    .map((message) => linked(message, addressOf))
    .filter((message) => message.role === 'assistant' && (textOf(message) !== '' || thoughtOf(message) !== ''));
  const cut = isLong ? 'length' : cutOf(answers.at(-1));
  return {
    status,
    messages: answers,
    calls:
      status === 'interrupted' ? [...callsIn(messages, runId), ...interrupts.map((one) => toCall(one, runId))] : [],
    usage: metadata.usage ?? { input_tokens: 0, output_tokens: 0 },
    ...(cut && { cut }),
  };
}

const callsIn = (messages: readonly Message[], runId: string): FunctionCall[] =>
  messages.flatMap(({ content }) =>
    content
      .filter(isCall)
      .flatMap(({ type, id, name, args }) =>
        type === 'remote_tool_call'
          ? [{ id: shownCallId({ runId, callId: id }), name, arguments: argumentsText(args) }]
          : [],
      ),
  );

const toCall = ({ id, value = null, deadline, ...asked }: Question, runId: string): FunctionCall => ({
  id: shownCallId({ runId, callId: id }),
  name: questionName,
  arguments: JSON.stringify({ question: value, ...(deadline !== undefined && { deadline }), ...addressedOf(asked) }),
});

function cutOf(message: Message | undefined): RunResult['cut'] | undefined {
  const reason = message?.metadata?.['finish_reason'];
  return reason === 'length' || reason === 'content_filter' ? reason : undefined;
}

/** What a model thought, as it stands in its message. */
export const thoughtOf = ({ content }: Pick<Message, 'content'>): string =>
  content.flatMap(({ type, text }) => (type === 'reasoning' && typeof text === 'string' ? [text] : [])).join('');
