import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

/** Makes texts that only who has the secret can read or make. */
export interface Seal {
  /** The value as letters, digits, `-` and `_`: nobody reads or changes it without the secret. */
  readonly seal: (value: string) => string;
  /** What was sealed; `undefined` for any other text. */
  readonly open: (text: string) => string | undefined;
}

const algorithm = 'aes-256-gcm';
const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;

/**
 * The first secret seals, each opens: while a secret is changed both are given. `purpose` separates uses of one secret: what is
 * sealed for one is not opened for another.
 */
export function createSeal(secrets: readonly [string, ...string[]], purpose: string): Seal {
  const keys = secrets.map((secret) => Buffer.from(hkdfSync('sha256', secret, '', purpose, keyBytes)));
  return {
    seal: (value) => {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv(algorithm, keys[0] as Buffer, nonce);
      const sealed = Buffer.concat([nonce, cipher.update(value, 'utf8'), cipher.final(), cipher.getAuthTag()]);
      return sealed.toString('base64url');
    },
    open: (text) => {
      const sealed = Buffer.from(text, 'base64url');
      if (sealed.length < nonceBytes + tagBytes || sealed.toString('base64url') !== text) return undefined;
      for (const key of keys) {
        const value = openWith(key, sealed);
        if (value !== undefined) return value;
      }
      return undefined;
    },
  };
}

function openWith(key: Buffer, sealed: Buffer): string | undefined {
  const decipher = createDecipheriv(algorithm, key, sealed.subarray(0, nonceBytes), { authTagLength: tagBytes });
  decipher.setAuthTag(sealed.subarray(-tagBytes));
  const value = decipher.update(sealed.subarray(nonceBytes, -tagBytes));
  try {
    return Buffer.concat([value, decipher.final()]).toString('utf8');
  } catch {
    return undefined;
  }
}
