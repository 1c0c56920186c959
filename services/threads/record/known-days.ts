import type { ResourceWrite } from '../ports/resources.ts';
import { daysPrefix } from './question-entries.ts';

/** The days of roles that this process has written: one that it knows to be on record is not written again. */
interface KnownDays {
  readonly isKnown: (write: ResourceWrite) => boolean;
  /** Notes what has been written. */
  readonly add: (writes: readonly ResourceWrite[]) => void;
}

/** A day that began so long ago may have been removed meanwhile, in milliseconds. */
const youngMs = 36 * 3_600_000;
const mostKnown = 10_000;

export function createKnownDays(now: () => number): KnownDays {
  const known = new Set<string>();
  return {
    isKnown: ({ owner, id }) =>
      owner.startsWith(daysPrefix) && now() - Date.parse(id) < youngMs && known.has(nameOf(owner, id)),
    add: (writes) => {
      if (known.size > mostKnown) known.clear();
      for (const { owner, id } of writes) if (owner.startsWith(daysPrefix)) known.add(nameOf(owner, id));
    },
  };
}

const nameOf = (owner: string, id: string): string => JSON.stringify([owner, id]);
