/** What a question shows of who answers it. */
export interface Addressed {
  /** The roles whose callers answer it; absent: the owner of the thread. */
  readonly to?: readonly string[];
  /** Set where the owner may not, whichever roles he has. */
  readonly not_owner?: boolean;
  /** How many callers must give the same answer; absent: one. */
  readonly quorum?: number;
}

/** These members of a question, to be shown beside its others; empty for one to the owner. */
export const addressedOf = ({ to, not_owner: notOwner, quorum }: Addressed): Addressed =>
  to === undefined
    ? {}
    : { to, ...(notOwner === true && { not_owner: true }), ...(quorum !== undefined && { quorum }) };

/** Whom a question waits for, in words. */
export const waitsForText = (to: readonly string[]): string => `waits for an answer of ${to.join(' or ')}`;
