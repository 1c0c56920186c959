import type { Block } from '@agent-workflow/client';
import { client, describe } from '../../session/session.ts';
import { toAttached, type Attached, type Attachments as Kept } from './attached.ts';

interface AttachmentsProps {
  readonly attachments: Kept;
  readonly isDisabled: boolean;
  readonly onChange: (change: (now: Kept) => Kept) => void;
}

/** The files that go with the next message. */
export function Attachments({ attachments: { files, lost }, isDisabled, onChange }: AttachmentsProps) {
  const choose = ({ currentTarget: input }: { readonly currentTarget: HTMLInputElement }): void => {
    const chosen = [...(input.files ?? [])].map(toAttached);
    onChange((now) => ({ ...now, files: [...now.files, ...chosen] }));
    // The same file may be chosen again after it was taken away.
    input.value = '';
  };
  const takeAway = (id: string): void =>
    onChange((now) => ({ ...now, files: now.files.filter((each) => each.id !== id) }));
  return (
    <div class="attachments">
      <label class="attach">
        <span>Attach files</span>
        <input class="unseen" type="file" multiple disabled={isDisabled} onChange={choose} />
      </label>
      {files.length > 0 && (
        <ul aria-label="Attached files">
          {files.map(({ id, name, size }) => (
            <li key={id}>
              {name} <span class="hint">{sizeText(size)}</span>
              <button
                type="button"
                class="quiet"
                disabled={isDisabled}
                aria-label={`Take ${name} away`}
                onClick={() => takeAway(id)}
              >
                ✕
              </button>
            </li>
          ))}
        </ul>
      )}
      {lost.length > 0 && (
        <div class="note" role="alert">
          <span>Not kept when the page was loaded again, so attach again: {lost.join(', ')}</span>
          <button type="button" onClick={() => onChange((now) => ({ ...now, lost: [] }))}>
            Dismiss
          </button>
        </div>
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
