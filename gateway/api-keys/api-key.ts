import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';

/** How every key begins, so that people and scanners of secrets know one. */
export const apiKeyPrefix = 'awk_';

/** Prefix, 16 digits of the public id, 64 of the secret, and 8 of a checksum of all before: a key with a typo is none. */
const shape = /^awk_([\da-f]{16})([\da-f]{64})([\da-f]{8})$/;

/** A key that somebody has shown. Its secret part is compared, and kept nowhere. */
interface ShownKey {
  readonly id: string;
  readonly secretHash: Buffer;
}

/** Makes a key: 64 random bits name it, 256 are its secret. */
export function newApiKey(): ShownKey & { readonly text: string } {
  const id = randomBytes(8).toString('hex');
  const secret = randomBytes(32).toString('hex');
  const begin = `${apiKeyPrefix}${id}${secret}`;
  return { id, secretHash: hashOf(secret), text: `${begin}${checksumOf(begin)}` };
}

/** Reads the text of a key; `undefined` for what is none. */
export function readApiKey(text: string): ShownKey | undefined {
  const [, id, secret, checksum] = shape.exec(text) ?? [];
  if (id === undefined || secret === undefined || checksum !== checksumOf(text.slice(0, -8))) return undefined;
  return { id, secretHash: hashOf(secret) };
}

/** Whether two hashes are the same, in a time that does not depend on how much of them is. */
export const isSameHash = (one: Buffer, other: Buffer): boolean =>
  one.byteLength === other.byteLength && timingSafeEqual(one, other);

const checksumOf = (text: string): string => crc32(text).toString(16).padStart(8, '0');

/** The secret has 256 random bits: nobody finds it by trying, however fast the hash is. */
const hashOf = (secret: string): Buffer => createHash('sha256').update(secret).digest();
