import { createHash } from 'node:crypto';
import type { FileKey } from './port.ts';

/**
 * The name under which the bytes of a file are stored: hexadecimal digits, the first four as two folders, so that no folder has more
 * than 256 others and no text of a caller is part of a path.
 */
export function placeOf({ owner, fileId }: FileKey): string {
  const name = createHash('sha256')
    .update(JSON.stringify([owner, fileId]))
    .digest('hex');
  return `${name.slice(0, 2)}/${name.slice(2, 4)}/${name}`;
}
