import type { Block } from '@agent-workflow/protos/message';
import { invalidAt, type Loc } from '../../../http/fields.ts';
import type { Part } from '../schemas/messages.ts';

/** The media type of data among texts: models read it as a text, and clients get it back as data. */
export const dataType = 'application/json';

/** A part of a message, whose bytes may be stored as a file. */
type GivenPart = Part & { readonly fileId?: string };

/** The parts of a message as blocks. @throws Invalid naming the part that holds nothing, or several things */
export const toBlocks = (parts: readonly GivenPart[], at: Loc): readonly Block[] =>
  parts.map((part, index) => toBlock(part, [...at, index]));

const contents = ['text', 'raw', 'url', 'data'] as const;

function toBlock(part: GivenPart, at: Loc): Block {
  const given = contents.filter((name) => part[name] !== undefined);
  if (given.length !== 1) throw invalidAt(at, `must have one of ${contents.join(', ')}`);
  const { text, raw, url, data, metadata, filename, mediaType, fileId } = part;
  const more = {
    ...(filename !== undefined && filename !== '' && { filename }),
    ...(mediaType !== undefined && mediaType !== '' && { media_type: mediaType }),
    ...(metadata && { metadata }),
  };
  if (text !== undefined) return { type: 'text', text, ...more };
  if (fileId !== undefined) return { type: 'file', file_id: fileId, ...more };
  if (raw !== undefined) return { type: 'file', data: raw, ...more };
  if (url !== undefined) return { type: 'file', url: addressIn(url, [...at, 'url']), ...more };
  return { ...more, type: 'text', text: JSON.stringify(data), media_type: dataType };
}

function addressIn(url: string, at: Loc): string {
  if (!URL.canParse(url)) throw invalidAt(at, 'must be an address');
  return url;
}

/** What the parts of a message answer to a question: data as it stands, texts as one, anything else as the parts. */
export function toAnswer(parts: readonly Part[]): unknown {
  const [first] = parts;
  if (parts.length === 1 && first?.data !== undefined) return first.data;
  const texts = parts.flatMap(({ text }) => (text === undefined ? [] : [text]));
  return texts.length === parts.length ? texts.join('\n') : parts;
}
