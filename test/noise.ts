import { randomBytes } from 'node:crypto';

/** Random bytes that do not begin like a file of a known type, as one in some thousand would: an upload's type is checked by its first bytes. */
export function noise(size: number): Buffer<ArrayBuffer> {
  const bytes = randomBytes(size);
  bytes.write('noise');
  return bytes;
}
