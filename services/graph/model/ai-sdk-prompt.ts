import { isCall, providerDataOf, type Block, type CallBlock, type Message } from '@agent-workflow/protos/message';
import type { CallOptions, FilePart, PromptMessage, ResultContent } from './ai-sdk-model.ts';
import { objectOf } from './given-json.ts';
import type { ModelQuestion } from './model.ts';
import type { MediaPart, QuestionMedia } from './question-media.ts';
import { partsOfResult } from './result-parts.ts';
import { toSentSchema } from './sent-schema.ts';
import { resultsBehindCalls, settledCalls, toModelText } from './settled-calls.ts';

/** What a question is sent with. */
interface Sending {
  /** Stands for the provider: what it sent beside its answers goes back to it alone. */
  readonly source: string;
  readonly media: QuestionMedia;
  /** The specification of the model, as `v3`: each writes files in its own way. */
  readonly version: string;
}

/** A question as a language model of the AI SDK takes it. */
export function toCallOptions(question: ModelQuestion, sending: Sending): Omit<CallOptions, 'abortSignal'> {
  const { tools, schema } = question;
  return {
    prompt: toPrompt(question, sending),
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, parameters }) => ({
        ...{ type: 'function', name, description, inputSchema: toSentSchema(parameters) },
      })),
    }),
    ...(schema && { responseFormat: { type: 'json', name: 'answer', schema } }),
  };
}

function toPrompt({ instructions, messages }: ModelQuestion, sending: Sending): PromptMessage[] {
  const settled = settledCalls(messages);
  const system: PromptMessage[] = instructions === '' ? [] : [{ role: 'system', content: instructions }];
  return [...system, ...resultsBehindCalls(messages).flatMap((message) => toPromptMessage(message, settled, sending))];
}

type Settled = ReadonlyMap<unknown, CallBlock>;

function toPromptMessage({ role, content }: Message, settled: Settled, sending: Sending): PromptMessage[] {
  switch (role) {
    case 'system':
      return [{ role, content: toModelText(content) }];
    case 'user':
      return [{ role, content: toUserParts(content, sending) }];
    case 'assistant': {
      const parts = content.flatMap((block) => toAnswerPart(block, settled, sending.source));
      return parts.some(({ type }) => type !== 'reasoning') ? [{ role, content: joined(parts) }] : [];
    }
    case 'tool': {
      const results = content.flatMap((block) => toResultParts(block, settled.get(block['call_id']), sending));
      return results.length === 0 ? [] : [{ role, content: results }];
    }
  }
}

type PartsOf<R extends PromptMessage['role']> = Extract<PromptMessage, { role: R }>['content'];
type AnswerPart = PartsOf<'assistant'>[number];

/** Reasoning goes back to the provider that made it alone. */
function toAnswerPart(block: Block, settled: Settled, source: string): AnswerPart[] {
  const data = providerDataOf(block);
  const isOwn = data?.source === source;
  const options = isOwn && Object.keys(data.members).length > 0 ? { providerOptions: data.members } : {};
  if (isCall(block)) {
    const { id, name, args } = block;
    return settled.has(id)
      ? [{ type: 'tool-call', toolCallId: id, toolName: name, input: objectOf(args), ...options }]
      : [];
  }
  if (block.type === 'reasoning')
    return isOwn && typeof block['text'] === 'string' ? [{ type: 'reasoning', text: block['text'], ...options }] : [];
  const text = toModelText([block]);
  return text === '' && !('providerOptions' in options) ? [] : [{ type: 'text', text, ...options }];
}

/** Texts behind each other are one part, but for those with something for the provider. */
function joined(parts: readonly AnswerPart[]): AnswerPart[] {
  const list: AnswerPart[] = [];
  for (const part of parts) {
    const last = list.at(-1);
    const isPlain = part.type === 'text' && !part.providerOptions && last?.type === 'text' && !last.providerOptions;
    if (isPlain) list.splice(-1, 1, { type: 'text', text: last.text + part.text });
    else list.push(part);
  }
  return list;
}

function toUserParts(content: readonly Block[], { media, version }: Sending): PartsOf<'user'> {
  const parts: PartsOf<'user'> = [];
  for (const block of content) {
    const shown = media.get(block);
    if (shown && 'part' in shown) parts.push(toFilePart(shown.part, version));
    else {
      const text = shown ? shown.text : toModelText([block]);
      const last = parts.at(-1);
      if (last?.type === 'text') parts.splice(-1, 1, { type: 'text', text: last.text + text });
      else parts.push({ type: 'text', text });
    }
  }
  return parts.length === 0 ? [{ type: 'text', text: '' }] : parts;
}

const typeOf = ({ kind, mediaType }: MediaPart): string =>
  mediaType ?? (kind === 'document' ? 'application/pdf' : `${kind}/*`);

function toFilePart(part: MediaPart, version: string): FilePart {
  const { filename, from } = part;
  const named = { mediaType: typeOf(part), ...(filename !== undefined && { filename }) };
  const data = 'url' in from ? new URL(from.url) : from.base64;
  if (version === 'v2' || version === 'v3') return { type: 'file', data, ...named };
  return { type: 'file', data: data instanceof URL ? { type: 'url', url: data } : { type: 'data', data }, ...named };
}

function toResultParts(block: Block, call: CallBlock | undefined, { media, version }: Sending): PartsOf<'tool'> {
  if (!call) return [];
  const { id: toolCallId, name: toolName } = call;
  const isError = block['is_error'] === true;
  const value = partsOfResult(block['output']).map((part) => toResultContent(part, media, version));
  const texts = value.map((part) => (part.type === 'text' ? part.text : '[media]'));
  if (isError || value.every(({ type }) => type === 'text'))
    return [
      {
        ...{ type: 'tool-result', toolCallId, toolName },
        output: { type: isError ? 'error-text' : 'text', value: texts.join('\n') },
      },
    ];
  return [{ type: 'tool-result', toolCallId, toolName, output: { type: 'content', value } }];
}

function toResultContent(given: string | object, media: QuestionMedia, version: string): ResultContent {
  if (typeof given === 'string') return { type: 'text', text: given };
  const shown = media.get(given);
  if (!shown) return { type: 'text', text: '[media]' };
  if ('text' in shown) return { type: 'text', text: shown.text };
  const { part } = shown;
  const { kind, from } = part;
  const mediaType = typeOf(part);
  if (version === 'v2')
    return 'url' in from
      ? { type: 'text', text: `[${kind} at ${from.url}]` }
      : { type: 'media', data: from.base64, mediaType };
  if (version !== 'v3') return toFilePart(part, version);
  const what = kind === 'image' ? 'image' : 'file';
  return 'url' in from
    ? { type: `${what}-url`, url: from.url }
    : { type: `${what}-data`, data: from.base64, mediaType };
}
