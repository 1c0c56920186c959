import type { RunRecord } from '../ports/record.ts';
import { fromJson } from './json.ts';

/** Who has sent the request of a run by a share of its thread; `undefined` where that is the owner of the thread. */
export function senderOf({ options }: Pick<RunRecord, 'options'>): string | undefined {
  if (!Buffer.from(options.buffer, options.byteOffset, options.byteLength).includes('"sender":')) return undefined;
  const { sender } = fromJson(options) as { readonly sender?: unknown };
  return typeof sender === 'string' ? sender : undefined;
}
