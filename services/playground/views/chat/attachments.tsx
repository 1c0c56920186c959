import type { Block } from '@agent-workflow/client';
import { client, describe } from '../../session/session.ts';

interface AttachmentsProps {
  readonly files: readonly File[];
  readonly isDisabled: boolean;
  readonly onFiles: (files: readonly File[]) => void;
}

/** The files that go with the next message. */
export function Attachments({ files, isDisabled, onFiles }: AttachmentsProps) {
  const onChange = (event: { readonly currentTarget: HTMLInputElement }): void => {
    onFiles([...files, ...(event.currentTarget.files ?? [])]);
    // The same file may be chosen again after it was taken away.
    event.currentTarget.value = '';
  };
  return (
    <div class="attachments">
      <label class="attach">
        <span>Attach files</span>
        <input class="unseen" type="file" multiple disabled={isDisabled} onChange={onChange} />
      </label>
      {files.length > 0 && (
        <ul aria-label="Attached files">
          {files.map((file, index) => (
            <li key={`${String(index)} ${file.name}`}>
              {file.name} <span class="hint">{sizeText(file.size)}</span>
              <button
                type="button"
                class="quiet"
                disabled={isDisabled}
                aria-label={`Take ${file.name} away`}
                onClick={() => onFiles(files.filter((each) => each !== file))}
              >
                ✕
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function sizeText(bytes: number): string {
  if (bytes < 1024) return `${String(bytes)} B`;
  return bytes < 1024 ** 2 ? `${(bytes / 1024).toFixed(1)} KiB` : `${(bytes / 1024 ** 2).toFixed(1)} MiB`;
}

/** A text as blocks: none when there is none. */
export const textBlocks = (text: string): readonly Block[] => (text === '' ? [] : [{ type: 'text', text }]);

const kinds: readonly string[] = ['image', 'audio', 'video'];

/** Stores the files with the service, one after the other, and gives the blocks that name them. Those of `stored` are there already. */
export async function blocksOf(files: readonly File[], stored: Map<File, Block>): Promise<readonly Block[]> {
  const blocks: Block[] = [];
  for (const file of files) {
    const block = stored.get(file) ?? (await storeFile(file));
    stored.set(file, block);
    blocks.push(block);
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
