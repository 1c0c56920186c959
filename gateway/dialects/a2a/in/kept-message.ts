import { hash } from 'node:crypto';
import { sizes } from '@agent-workflow/kit/sizes';
import { sortedKeys } from '../../common/sorted-keys.ts';
import type { AskedBy } from '../out/task.ts';
import type { A2aMessage } from '../schemas/messages.ts';

/** What a message has beside its ids, in few characters. */
export const digestOf = ({ parts, metadata }: Pick<A2aMessage, 'parts' | 'metadata'>): string =>
  hash('sha256', JSON.stringify(sortedKeys([parts, metadata])), 'base64url');

/** A message that was too long to be kept with its run: the thread has it. */
export interface LongMessage {
  readonly messageId: string;
  /** Its id in the thread. */
  readonly stored: string;
}

/**
 * What the record keeps of the request for a run, for the history of its task. A message of more than 64 KiB of JSON is left out, but for its digest
 * and, where it is one of the thread (`stored`), its ids.
 */
export function toKept(given: A2aMessage, stored: string | undefined): Readonly<Record<string, unknown>> {
  const { messageId, parts, metadata } = given;
  const digest = digestOf(given);
  const kept = { api: 'a2a', digest, message: { messageId, parts, ...(metadata && { metadata }) } satisfies AskedBy };
  return Buffer.byteLength(JSON.stringify(kept)) <= sizes.shownRequest
    ? kept
    : { api: 'a2a', digest, ...(stored !== undefined && { long: { messageId, stored } satisfies LongMessage }) };
}

/** Characters of a message that a stream holds in memory until it begins. */
const shortLength = 4096;

/** A message as the history of its task has it; `undefined` for a long one, which is read from the record. */
export function shortOf({ messageId, parts, metadata }: A2aMessage): AskedBy | undefined {
  const message = { messageId, parts, ...(metadata && { metadata }) };
  return JSON.stringify(message).length <= shortLength ? message : undefined;
}

/** The same as it was kept; `undefined` for a run of another dialect. */
export function fromKept(json: string | undefined): AskedBy | LongMessage | undefined {
  if (json === undefined) return undefined;
  const kept = JSON.parse(json) as { readonly api?: unknown; readonly message?: AskedBy; readonly long?: LongMessage };
  return kept.api === 'a2a' ? (kept.message ?? kept.long) : undefined;
}

/** The digest of the message that a run was asked for by; `undefined` for a run of another dialect, or of an earlier version. */
export function keptDigest(json: string): string | undefined {
  const { digest } = JSON.parse(json) as { readonly digest?: unknown };
  return typeof digest === 'string' ? digest : undefined;
}
