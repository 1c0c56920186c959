import type { Block } from '@agent-workflow/client';
import { client, describe } from '../../session/session.ts';
import type { Attached } from './attached.ts';

/** A text as blocks: none when there is none. */
export const textBlocks = (text: string): readonly Block[] => (text === '' ? [] : [{ type: 'text', text }]);

const kinds: readonly string[] = ['image', 'audio', 'video'];

/**
 * Stores the files with the service, one after the other, and gives the blocks that name them.
 * @param onStored called for each with its block, so that it is not stored again
 * @throws Error that names the file when one cannot be stored
 */
export async function blocksOf(
  files: readonly Attached[],
  onStored: (id: string, block: Block) => void,
): Promise<readonly Block[]> {
  const blocks: Block[] = [];
  for (const { id, file, block } of files) {
    const stored = block ?? (file && (await storeFile(file)));
    if (stored === undefined) continue;
    onStored(id, stored);
    blocks.push(stored);
  }
  return blocks;
}

async function storeFile(file: File): Promise<Block> {
  const { file_id: fileId } = await client.files.upload(file).catch((error: unknown) => {
    throw new Error(`${file.name}: ${describe(error)}`, { cause: error });
  });
  const kind = file.type.split('/', 1)[0] ?? '';
  // A browser that is given a picture with scripts as bytes does not draw it.
  const isShown = kinds.includes(kind) && !file.type.startsWith('image/svg');
  return {
    type: isShown ? kind : 'document',
    file_id: fileId,
    filename: file.name,
    ...(file.type !== '' && { mime_type: file.type }),
  };
}
