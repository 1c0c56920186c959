import crypto, { hash, randomFillSync } from 'node:crypto';

/**
 * A new identifier: UUIDv7, so that ids made later sort later. Ids of one process are strictly increasing: within a
 * millisecond a counter orders them (RFC 9562, section 6.2, method 1), and a clock that is set back is ignored. We do not use a library
 * because a request makes five ids.
 */
export function newId(): string {
  count(Date.now());
  const at = draw();
  idBytes.writeUIntBE(lastMs, 0, 6);
  idBytes.writeUInt16BE(0x7000 | counter, 6);
  pool.copy(idBytes, 8, at, at + randomBytes);
  idBytes.writeUInt8((idBytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return uuidText(idBytes);
}

/** A UUIDv7 that need not sort within a millisecond, at an eighth of the cost of `newId`: Node's own generator, which Node 22 lacks. */
export const newUnorderedId: () => string =
  (crypto as Partial<Pick<typeof crypto, 'randomUUIDv7'>>).randomUUIDv7 ?? newId;

/**
 * An identifier derived from another id and a word: every process derives the same. From a UUIDv7 it derives a UUIDv7 with the same
 * time, from any other id a UUIDv8.
 */
export function idFrom(id: string, what: string): string {
  const bytes = hash('sha256', `${what}\n${id}`, 'buffer');
  const time = /^([0-9a-f]{8})-([0-9a-f]{4})-7/.exec(id);
  if (time) bytes.write(`${time[1] ?? ''}${time[2] ?? ''}`, 0, 'hex');
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | (time ? 0x70 : 0x80), 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return uuidText(bytes);
}

/** The usual spelling of the UUID whose 16 bytes these begin with. It is written in place, a tenth of the memory of a text put together. */
export function uuidText(from: Uint8Array): string {
  let to = 0;
  for (let at = 0; at < 16; at++) {
    if (at === 4 || at === 6 || at === 8 || at === 10) to += 1;
    const byte = from[at] ?? 0;
    idText[to++] = digits[byte >> 4] ?? 0;
    idText[to++] = digits[byte & 0x0f] ?? 0;
  }
  return idText.toString('latin1');
}

/** The owner of what is made without authentication. No signed-in user has this key, because theirs begin with `u:`. */
export const anonymousOwner = 'anon';

/** The owner key of a signed-in user. */
export const ownerOf = (userId: string): string => `u:${userId}`;

/** The user's id that an owner key stands for; `undefined` for the anonymous owner. */
export const userIdOf = (owner: string): string | undefined => (owner.startsWith('u:') ? owner.slice(2) : undefined);

/** A thread of an owner as one text, for the keys of maps. An owner may hold any character. */
export const threadText = ({ owner, threadId }: { readonly owner: string; readonly threadId: string }): string =>
  JSON.stringify([owner, threadId]);

let lastMs = 0;
let counter = 0;
const counterEnd = 0x1000;

/** Sets time and counter for the next id. When the counter is full, the time moves one millisecond ahead of the clock. */
function count(now: number): void {
  if (now <= lastMs && ++counter < counterEnd) return;
  lastMs = Math.max(now, lastMs + 1);
  counter = 0;
}

const randomBytes = 8;
const pool = Buffer.allocUnsafeSlow(randomBytes * 512);
let drawn = pool.length;

/** The index of the next random bytes. They are fetched for 512 ids together, and each byte is used once. */
function draw(): number {
  if (drawn === pool.length) {
    randomFillSync(pool);
    drawn = 0;
  }
  drawn += randomBytes;
  return drawn - randomBytes;
}

const digits = Buffer.from('0123456789abcdef');
const idBytes = Buffer.alloc(16);
const idText = Buffer.from('00000000-0000-0000-0000-000000000000');
