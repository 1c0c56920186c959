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
