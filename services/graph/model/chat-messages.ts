import { isCall, providerDataOf, type Block, type CallBlock, type Message } from '@agent-workflow/protos/message';
import type { ToolDeclaration } from '../build/context.ts';
import { objectOf } from './given-json.ts';
import type { ModelQuestion } from './model.ts';
import type { MediaPart, QuestionMedia } from './question-media.ts';
import { partsOfResult } from './result-parts.ts';
import { toSentSchema } from './sent-schema.ts';
import { resultsBehindCalls, settledCalls, toModelText } from './settled-calls.ts';

/** A message or a tool as chat completions take it. */
type ChatObject = Readonly<Record<string, unknown>>;

/** What a question is sent with. */
export interface Sending {
  /** Stands for the provider and its address: what it sent beside its answers goes back to it alone. */
  readonly source: string;
  readonly media: QuestionMedia;
}

/** The instructions and the conversation as chat completions take them. */
export function toChatMessages({ instructions, messages }: ModelQuestion, sending: Sending): ChatObject[] {
  const settled = settledCalls(messages);
  const sent: ChatObject[] = instructions === '' ? [] : [{ role: 'system', content: instructions }];
  let results: Block[] = [];
  const closeResults = (): void => {
    sent.push(...toMediaOfResults(results, sending.media));
    results = [];
  };
  for (const { role, content } of resultsBehindCalls(messages)) {
    if (role !== 'tool') {
      closeResults();
      sent.push(...toChatMessage(role, content, { settled, sending }));
      continue;
    }
    const paired = content.filter((block) => settled.has(block['call_id']));
    sent.push(...paired.map((block) => toResult(block, sending.media)));
    results.push(...paired);
  }
  closeResults();
  return sent;
}

/** The tools as chat completions take them. */
export const toChatTools = (tools: readonly ToolDeclaration[]): ChatObject[] =>
  tools.map(({ name, description, parameters }) => ({
    type: 'function',
    function: { name, description, parameters: toSentSchema(parameters) },
  }));

type Settled = ReadonlyMap<unknown, CallBlock>;

function toChatMessage(
  role: Exclude<Message['role'], 'tool'>,
  content: readonly Block[],
  { settled, sending }: { readonly settled: Settled; readonly sending: Sending },
): ChatObject[] {
  switch (role) {
    case 'assistant':
      return toAnswer(content, settled, sending);
    case 'user':
      return [{ role, content: toUserContent(content, sending.media) }];
    case 'system':
      return [{ role, content: toModelText(content) }];
  }
}

function toAnswer(content: readonly Block[], settled: Settled, { source }: Sending): ChatObject[] {
  const text = toModelText(content);
  const calls = content.filter(isCall).filter(({ id }) => settled.has(id));
  if (calls.length === 0 && text === '') return [];
  const thoughts = thoughtsOf(content, source);
  return [
    {
      ...membersOf(content, source),
      ...thoughts.members,
      role: 'assistant',
      content: contentOf(text, thoughts.parts, calls.length > 0),
      ...(calls.length > 0 && { tool_calls: calls.map((call) => toCall(call, source)) }),
    },
  ];
}

function contentOf(text: string, thoughts: readonly ChatObject[], mayBeNull: boolean): unknown {
  if (thoughts.length === 0) return text === '' && mayBeNull ? null : text;
  return [...thoughts, ...(text === '' ? [] : [{ type: 'text', text }])];
}

/** Members of the message as this provider wrote them beside the text. */
const membersOf = (content: readonly Block[], source: string): ChatObject =>
  Object.assign(
    {},
    ...content.filter((block) => !isCall(block)).map((block) => dataFor(block, source)?.members),
  ) as ChatObject;

/** The reasoning in the members in which this provider wrote it. */
function thoughtsOf(
  content: readonly Block[],
  source: string,
): { readonly members: ChatObject; readonly parts: readonly ChatObject[] } {
  const members: Record<string, string> = {};
  const parts: ChatObject[] = [];
  for (const block of content) {
    const { text } = block;
    const member = dataFor(block, source)?.text_member;
    if (block.type !== 'reasoning' || typeof text !== 'string' || member === undefined) continue;
    if (member === 'content.thinking') parts.push({ type: 'thinking', thinking: [{ type: 'text', text }] });
    else members[member] = (members[member] ?? '') + text;
  }
  return { members, parts };
}

function dataFor(block: Block, source: string): ReturnType<typeof providerDataOf> {
  const data = providerDataOf(block);
  return data?.source === source ? data : undefined;
}

function toCall(call: CallBlock, source: string): ChatObject {
  const { id, name, args } = call;
  const { function: inner, ...members } = dataFor(call, source)?.members ?? {};
  return {
    ...members,
    id,
    type: 'function',
    function: {
      ...(typeof inner === 'object' && inner),
      ...{ name, arguments: JSON.stringify(objectOf(args)) },
    },
  };
}

function toResult(block: Block, media: QuestionMedia): ChatObject {
  const { call_id: id, is_error: isError, output } = block;
  const text = partsOfResult(output)
    .map((part) => (typeof part === 'string' ? part : textInPlace(part, media)))
    .join('\n');
  return { role: 'tool', tool_call_id: String(id), content: isError === true ? `Error: ${text}` : text };
}

function textInPlace(block: object, media: QuestionMedia): string {
  const shown = media.get(block);
  if (!shown) return '[media]';
  if ('text' in shown) return shown.text;
  return isSendable(shown.part) ? `[${shown.part.kind}: in the next message]` : addressText(shown.part);
}

/** The result of a tool is text: what is more is sent by a user, behind the last result. */
function toMediaOfResults(results: readonly Block[], media: QuestionMedia): ChatObject[] {
  const parts = results
    .flatMap(({ output }) => partsOfResult(output))
    .flatMap((part) => (typeof part === 'string' ? [] : toMediaParts(part, media)));
  if (parts.length === 0) return [];
  return [{ role: 'user', content: [{ type: 'text', text: 'What the tools above returned beside text:' }, ...parts] }];
}

function toMediaParts(block: object, media: QuestionMedia): ChatObject[] {
  const shown = media.get(block);
  return shown && 'part' in shown && isSendable(shown.part) ? [toMediaPart(shown.part)] : [];
}

/** A text as long as nothing else is there, as every server takes it. */
function toUserContent(content: readonly Block[], media: QuestionMedia): string | ChatObject[] {
  const parts: ChatObject[] = [];
  let text = '';
  const close = (): void => {
    if (text !== '') parts.push({ type: 'text', text });
    text = '';
  };
  for (const block of content) {
    const shown = media.get(block);
    if (!shown) text += toModelText([block]);
    else if ('text' in shown) text += shown.text;
    else if (!isSendable(shown.part)) text += addressText(shown.part);
    else {
      close();
      parts.push(toMediaPart(shown.part));
    }
  }
  if (parts.length === 0) return text;
  close();
  return parts;
}

/** Chat completions have no place for the address of a sound or of a document. */
const isSendable = ({ kind, from }: MediaPart): boolean => 'base64' in from || kind === 'image' || kind === 'video';

const addressText = ({ kind, from }: MediaPart): string => `[${kind}${'url' in from ? ` at ${from.url}` : ''}]`;

function toMediaPart({ kind, mediaType, filename, from }: MediaPart): ChatObject {
  const url = 'url' in from ? from.url : `data:${mediaType ?? usualTypes[kind]};base64,${from.base64}`;
  switch (kind) {
    case 'image':
      return { type: 'image_url', image_url: { url } };
    case 'video':
      return { type: 'video_url', video_url: { url } };
    case 'audio':
      return {
        type: 'input_audio',
        input_audio: { data: 'base64' in from ? from.base64 : '', format: formatOf(mediaType) },
      };
    case 'document':
      return { type: 'file', file: { filename: filename ?? 'document', file_data: url } };
  }
}

const usualTypes: Readonly<Record<MediaPart['kind'], string>> = {
  image: 'image/png',
  audio: 'audio/wav',
  video: 'video/mp4',
  document: 'application/pdf',
};

/** What OpenAI calls the type of a sound. */
function formatOf(mediaType = usualTypes.audio): string {
  const [, format = ''] = mediaType.split(/[/;]/);
  return formats[format] ?? format;
}

const formats: Readonly<Record<string, string>> = {
  mpeg: 'mp3',
  'x-wav': 'wav',
  wave: 'wav',
  'vnd.wave': 'wav',
  'x-m4a': 'm4a',
  mp4: 'm4a',
};
