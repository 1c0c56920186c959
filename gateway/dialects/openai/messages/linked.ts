import type { Block, Message } from '@agent-workflow/protos/message';
import type { AddressOf } from '../../common/file-addresses.ts';
import { givenIn } from '../../common/given-file.ts';

/** Bytes of a file without an address, in characters of Base64: longer ones are named alone. */
const mostRaw = 64 * 1024;

/** A message with links to its files and its data behind its text: an answer of OpenAI is text alone. */
export function linked(message: Message, addressOf: AddressOf): Message {
  if (message.role !== 'assistant') return message;
  const links = message.content.flatMap((block) => linkOf(block, addressOf));
  if (links.length === 0) return message;
  const hasText = message.content.some(({ type, text }) => type === 'text' && text !== '');
  const text = `${hasText ? '\n\n' : ''}${links.join('\n\n')}`;
  return { ...message, content: [...message.content, { type: 'text', text }] };
}

/** In Markdown: a link, a picture, or data as code. */
function linkOf(block: Block, addressOf: AddressOf): readonly string[] {
  if (block.type === 'error' || block.type === 'structured_content') return [];
  const given = givenIn(block);
  if (!given) return [];
  const { fileId, url, raw, data, filename, mediaType = '' } = given;
  if (data !== undefined) return [`\`\`\`json\n${JSON.stringify(data)}\n\`\`\``];
  const name = (filename ?? block.type).replaceAll(/[[\]\\]/g, '\\$&');
  const inline = raw !== undefined && raw.length <= mostRaw ? `data:${mediaType};base64,${raw}` : undefined;
  const address = fileId === undefined ? (url ?? inline) : addressOf(fileId);
  if (address === undefined) return [`[${name}]`];
  return [`${mediaType.startsWith('image/') || imageTypes.has(block.type) ? '!' : ''}[${name}](${address})`];
}

const imageTypes: ReadonlySet<string> = new Set(['image', 'image_url']);
