import type { BoundFiles, ToolContext } from '../build/context.ts';
import { kindOf, readMedia } from '../model/media.ts';

type Members = Readonly<Record<string, unknown>>;

/** Data up to this length, in characters of base64, stays in the message. */
const inlineCharacters = 64 * 1024;
/** Shorter data is no burden where it stands twice. */
const leastCopied = 256;

/**
 * A result whose large images, sounds and resources are files of the run's owner, named by `file_id`. One that cannot be stored is a text that
 * names it: the call was made, whatever its result looks like. Copies of data are left out: servers repeat a result as structured content, and
 * that as text.
 * @throws the signal's reason.
 */
export async function keepMedia(
  result: Members,
  { files, signal }: Pick<ToolContext, 'files' | 'signal'>,
): Promise<Members> {
  const given = result['content'];
  if (!Array.isArray(given)) return result;
  const data = given.flatMap(dataOf).filter(({ base64 }) => base64.length >= leastCopied);
  if (data.length === 0) return result;
  const content: unknown[] = [];
  for (const block of given as readonly unknown[])
    content.push(readMedia(block) ? await keepBlock(block, files, signal) : withoutCopies(block, data));
  return { ...result, content, structuredContent: withoutCopies(result['structuredContent'], data) };
}

interface Data {
  readonly base64: string;
  readonly mediaType: string;
}

function dataOf(block: unknown): Data[] {
  const { from, mediaType = 'application/octet-stream' } = readMedia(block) ?? {};
  return from && 'base64' in from ? [{ base64: from.base64, mediaType }] : [];
}

function withoutCopies(value: unknown, data: readonly Data[]): unknown {
  if (value === undefined) return undefined;
  return JSON.parse(
    JSON.stringify(value, (_, inner: unknown) =>
      typeof inner === 'string' && inner.length >= leastCopied
        ? data.reduce((text, { base64, mediaType }) => text.replaceAll(base64, () => `[${mediaType}]`), inner)
        : inner,
    ),
  );
}

async function keepBlock(block: unknown, files: BoundFiles, signal: AbortSignal): Promise<unknown> {
  const [given] = dataOf(block);
  if (!given || given.base64.length <= inlineCharacters) return block;
  const { base64, mediaType } = given;
  const { filename = 'result' } = readMedia(block) ?? {};
  const data = Buffer.from(base64, 'base64');
  try {
    const { fileId } = await files.write({ filename, contentType: mediaType, data });
    return { type: kindOf(mediaType), file_id: fileId, mimeType: mediaType };
  } catch {
    signal.throwIfAborted();
    return { type: 'text', text: `[${mediaType}: its ${String(data.byteLength)} bytes could not be stored]` };
  }
}
