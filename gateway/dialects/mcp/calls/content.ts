import type { AddressOf } from '../../common/file-addresses.ts';
import { givenIn } from '../../common/given-file.ts';
import { isCall, textOf, type Block, type Message } from '@agent-workflow/protos/message';
import { fieldsOf, isObject, textIn, type Fields } from '../wire/fields.ts';

/** Blocks that a node emits as MCP has them. */
const ownTypes: ReadonlySet<string> = new Set(['image', 'audio', 'resource', 'resource_link']);

/** The block by which a node gives what a program reads beside the text. */
const structuredType = 'structured_content';

/** A block as a part of a result; `undefined` for what a model thought and called, and for what programs read. */
function toPart(block: Block, addressOf: AddressOf): Fields | undefined {
  const { type, image_url: image } = block;
  if (type === 'text') return { type, text: textIn(block['text']) ?? '' };
  if (type === 'error') return { type: 'text', text: textIn(block['message']) ?? '' };
  if (ownTypes.has(type) && (typeof block['data'] === 'string' || isObject(block['resource']) || 'uri' in block))
    return block;
  const url = textIn(image) ?? textIn(fieldsOf(image)['url']);
  if (url !== undefined) return fromDataUrl(url) ?? { type: 'text', text: url };
  return type === structuredType ? undefined : fileOrData(block, addressOf);
}

/** A file as a link, bytes as a resource, and data as text. */
function fileOrData(block: Block, addressOf: AddressOf): Fields | undefined {
  const given = givenIn(block);
  if (!given) return undefined;
  const { fileId, url, raw, data, filename: name = block.type, mediaType } = given;
  const more = { ...(mediaType !== undefined && { mimeType: mediaType }) };
  if (raw !== undefined)
    return { type: 'resource', resource: { uri: `file:///${encodeURIComponent(name)}`, blob: raw, ...more } };
  const uri = fileId === undefined ? url : addressOf(fileId);
  return uri === undefined
    ? { type: 'text', text: JSON.stringify(data) }
    : { type: 'resource_link', uri, name, ...more };
}

const dataUrl = /^data:(image\/[\w.+-]{1,64});base64,/;

function fromDataUrl(url: string): Fields | undefined {
  const [head, mimeType] = dataUrl.exec(url) ?? [];
  return head === undefined ? undefined : { type: 'image', mimeType, data: url.slice(head.length) };
}

/** The messages of a run that say something: those of the agent, without the results of its tools. */
const spoken = (messages: readonly Message[]): readonly Message[] => messages.filter(({ role }) => role !== 'tool');

/** What a call of a tool gives: the last message that says something. */
export function contentOf(
  messages: readonly Message[],
  addressOf: AddressOf,
): {
  readonly content: readonly Fields[];
  readonly text: string;
} {
  const last = spoken(messages)
    .filter(({ role }) => role === 'assistant')
    .findLast(({ content }) => content.some((block) => !isCall(block) && toPart(block, addressOf) !== undefined));
  return {
    content: (last?.content ?? []).flatMap((block): readonly Fields[] =>
      [toPart(block, addressOf)].filter((part) => part !== undefined),
    ),
    text: last ? textOf(last) : '',
  };
}

/** What a node gave for programs; `undefined` where it gave nothing. */
export const structuredOf = (messages: readonly Message[]): Fields | undefined => {
  const block = messages.flatMap(({ content }) => content).findLast(({ type }) => type === structuredType);
  return block && fieldsOf(block['content']);
};

/** The messages of a prompt: each part of each message. */
export const promptOf = (messages: readonly Message[], addressOf: AddressOf): readonly Fields[] =>
  spoken(messages).flatMap(({ role, content }) =>
    content.flatMap((block) => {
      const part = toPart(block, addressOf);
      return part ? [{ role: role === 'user' ? 'user' : 'assistant', content: part }] : [];
    }),
  );

/** The contents of a resource: what its node gave as `resource`, else its text. */
export function contentsOf(messages: readonly Message[], uri: string, mimeType: string | undefined): readonly Fields[] {
  const blocks = spoken(messages).flatMap(({ content }) => content);
  const given = blocks.flatMap(({ type, resource }) => (type === 'resource' && isObject(resource) ? [resource] : []));
  if (given.length > 0) return given.map((resource) => ({ uri, ...resource }));
  const texts = blocks.flatMap(({ type, text }) => (type === 'text' && typeof text === 'string' ? [text] : []));
  return [{ uri, ...(mimeType !== undefined && { mimeType }), text: texts.join('') }];
}
