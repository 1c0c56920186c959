/** A run of somebody: two owners may use one id. */
interface OfOwner {
  /** Empty: the anonymous owner. */
  readonly userId: string;
  readonly runId: string;
}

/** How the address of the page names a run of somebody. The id of a run holds no slash. */
export const toPlaceId = ({ userId, runId }: OfOwner): string => `${userId}/${runId}`;

/** The run that an address names. */
export function fromPlaceId(id: string): OfOwner {
  const slash = id.lastIndexOf('/');
  return { userId: id.slice(0, Math.max(0, slash)), runId: id.slice(slash + 1) };
}

/** The owner as requests name them: the anonymous one by no id. */
export const ownerOf = (userId: string): { readonly user_id?: string } => (userId === '' ? {} : { user_id: userId });

/** The owner as people read it. */
export const ownerInWords = (userId: string): string => userId || 'the anonymous owner';

/** A run or a thread, as lists of everybody have it. */
export interface Owned {
  readonly thread_id: string;
  readonly user_id?: unknown;
}

/** The owner of a run or a thread; empty for the anonymous one. */
export const userOf = ({ user_id: userId }: Owned): string => (typeof userId === 'string' ? userId : '');
