import type { Block } from '@agent-workflow/protos/message';
import type { BoundFiles, ToolContext } from '../build/context.ts';
import { kindOf, readMedia } from '../model/media.ts';

/** Data up to this length, in characters of base64, stays in the message. */
const inlineCharacters = 64 * 1024;

/**
 * A result whose large images, sounds and resources are files of the run's owner, named by `file_id`. One that cannot be stored is a text that
 * names it: the call was made, whatever its result looks like.
 * @throws the signal's reason.
 */
export async function keepMedia(
  result: Members,
  { files, signal }: Pick<ToolContext, 'files' | 'signal'>,
): Promise<Members> {
  const given = result['content'];
  if (!Array.isArray(given)) return result;
  const content: unknown[] = [];
  for (const block of given as readonly unknown[])
    content.push(isBlock(block) ? await keepBlock(block, files, signal) : block);
  return { ...result, content };
}

type Members = Readonly<Record<string, unknown>>;

const isBlock = (block: unknown): block is Block =>
  typeof block === 'object' && block !== null && 'type' in block && typeof block.type === 'string';

async function keepBlock(block: Block, files: BoundFiles, signal: AbortSignal): Promise<Members> {
  const media = readMedia(block);
  if (!media || !('base64' in media.from) || media.from.base64.length <= inlineCharacters) return block;
  const { mediaType = 'application/octet-stream', filename = 'result' } = media;
  const data = Buffer.from(media.from.base64, 'base64');
  try {
    const { fileId } = await files.write({ filename, contentType: mediaType, data });
    // A block of this service: the protocol of MCP has none for its files.
    return { type: kindOf(mediaType), file_id: fileId, mimeType: mediaType };
  } catch {
    signal.throwIfAborted();
    return { type: 'text', text: `[${mediaType}: its ${String(data.byteLength)} bytes could not be stored]` };
  }
}
