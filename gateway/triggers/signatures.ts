import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

/** The forms of signatures: Standard Webhooks, and those of GitHub and Slack. */
export const triggerFormats = ['standard', 'github', 'slack'] as const;
export type TriggerFormat = (typeof triggerFormats)[number];

/** One header of a request; `undefined` for one that is absent or stands there twice. */
export type ReadHeader = (name: string) => string | undefined;

/** What a request says of itself in its signature, before it is known to be true. */
interface Claim {
  /** In seconds since 1970; absent where the form has none. */
  readonly timestamp?: number;
  /** What is signed before the body. */
  readonly before: string;
  readonly signatures: readonly Uint8Array[];
  /** What is the same when the sender sends the event again, beside the body. */
  readonly id: string;
}

/** How far the clock of a sender may differ from ours, in seconds: as Slack and Standard Webhooks recommend. */
const toleranceSeconds = 300;

/** Signatures that are read of one request: a sender that rotates its key has two (a count). */
const maxSignatures = 8;

const digestBytes = 32;

/** Reads the headers of a form; `undefined` when one is absent or is not what the form says. */
export function readClaim(format: TriggerFormat, header: ReadHeader): Claim | undefined {
  switch (format) {
    case 'github':
      return readGithub(header);
    case 'slack':
      return readSlack(header);
    case 'standard':
      return readStandard(header);
  }
}

function readGithub(header: ReadHeader): Claim | undefined {
  const signature = fromHex(header('x-hub-signature-256'), 'sha256=');
  return signature && { before: '', signatures: [signature], id: '' };
}

function readSlack(header: ReadHeader): Claim | undefined {
  const signature = fromHex(header('x-slack-signature'), 'v0=');
  const timestamp = readTimestamp(header('x-slack-request-timestamp'));
  return signature && timestamp && { ...timestamp, before: `v0:${timestamp.text}:`, signatures: [signature], id: '' };
}

function readStandard(header: ReadHeader): Claim | undefined {
  const id = header('webhook-id') ?? header('svix-id');
  const timestamp = readTimestamp(header('webhook-timestamp') ?? header('svix-timestamp'));
  const given = header('webhook-signature') ?? header('svix-signature');
  if (id === undefined || !/^[\x21-\x7e]{1,256}$/.test(id) || !timestamp || given === undefined) return undefined;
  const signatures = given
    .split(' ', maxSignatures)
    .filter((each) => /^v1,[A-Za-z0-9+/]{43}=$/.test(each))
    .map((each) => Buffer.from(each.slice(3), 'base64'));
  if (signatures.length === 0) return undefined;
  return { ...timestamp, before: `${id}.${timestamp.text}.`, signatures, id };
}

function fromHex(text: string | undefined, prefix: string): Uint8Array | undefined {
  if (text?.startsWith(prefix) !== true) return undefined;
  const hex = text.slice(prefix.length);
  return /^[0-9a-f]{64}$/.test(hex) ? Buffer.from(hex, 'hex') : undefined;
}

const readTimestamp = (text: string | undefined): { readonly text: string; readonly timestamp: number } | undefined =>
  text !== undefined && /^[0-9]{1,12}$/.test(text) ? { text, timestamp: Number(text) } : undefined;

/** Whether the time of a claim is close to `now`, in milliseconds. One without a time always is. */
export const isRecent = ({ timestamp }: Claim, now: number): boolean =>
  timestamp === undefined || Math.abs(now / 1000 - timestamp) <= toleranceSeconds;

/** Whether one of the signatures was made with one of the secrets. The time that this takes says nothing about where they differ. */
export function isSigned(
  format: TriggerFormat,
  { before, signatures }: Claim,
  { body, secrets }: { readonly body: Uint8Array; readonly secrets: readonly string[] },
): boolean {
  let isRight = false;
  for (const secret of secrets) {
    const expected = createHmac('sha256', keyOf(format, secret)).update(before).update(body).digest();
    for (const signature of signatures)
      if (signature.byteLength === digestBytes && timingSafeEqual(expected, signature)) isRight = true;
  }
  return isRight;
}

const standardPrefix = 'whsec_';

function keyOf(format: TriggerFormat, secret: string): Uint8Array {
  if (format !== 'standard') return Buffer.from(secret);
  return Buffer.from(secret.startsWith(standardPrefix) ? secret.slice(standardPrefix.length) : secret, 'base64');
}

/** Why a text is no secret of a form; `undefined` for one that is. */
export function secretFault(format: TriggerFormat, secret: string): string | undefined {
  if (format !== 'standard')
    return /^[\x20-\x7e]{16,256}$/.test(secret) ? undefined : 'must be 16 to 256 visible ASCII characters';
  const text = secret.startsWith(standardPrefix) ? secret.slice(standardPrefix.length) : secret;
  const bytes = /^[A-Za-z0-9+/]+={0,2}$/.test(text) ? Buffer.from(text, 'base64').byteLength : 0;
  return bytes >= 24 && bytes <= 64 ? undefined : 'must be "whsec_" and 24 to 64 bytes in base64';
}

/** A new secret of 32 random bytes, in the words of the form. */
export const newSecret = (format: TriggerFormat, random: Uint8Array): string =>
  format === 'standard'
    ? `${standardPrefix}${Buffer.from(random).toString('base64')}`
    : Buffer.from(random).toString('hex');

/** The hash by which an event is known again: of what is signed, without the time, which a sender that sends it again signs anew. */
export const eventHash = (triggerId: string, { id }: Claim, body: Uint8Array): string =>
  createHash('sha256')
    .update(JSON.stringify([triggerId, id]))
    .update(body)
    .digest('hex');
