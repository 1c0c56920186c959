import type { ResourceRecords } from '../ports/resources.ts';
import type { RunRecord } from '../ports/record.ts';
import { fromJson } from './json.ts';

// A run whose request came from somebody with whom its thread is shared. Its options say who, and by which share.

interface Sent {
  readonly sender?: string;
  readonly share?: { readonly id: string; readonly until?: number };
}

const sentBy = ({ options }: Pick<RunRecord, 'options'>): Sent =>
  Buffer.from(options.buffer, options.byteOffset, options.byteLength).includes('"sender":')
    ? (fromJson(options) as Sent)
    : {};

/** Who has sent the request of a run by a share of its thread; `undefined` where that is the owner of the thread. */
export const senderOf = (run: Pick<RunRecord, 'options'>): string | undefined => sentBy(run).sender;

/** The share by which the request of a run came; `undefined` where it came by none. */
export const shareOf = (run: Pick<RunRecord, 'options'>): Sent['share'] => sentBy(run).share;

/** Whether a share of this owner has ended. */
export const isOver = async (
  store: Pick<ResourceRecords, 'getResource'>,
  owner: string,
  { id, until = Infinity }: NonNullable<Sent['share']>,
  now: number,
): Promise<boolean> => now >= until || !(await store.getResource({ kind: 'share', owner, id }));
