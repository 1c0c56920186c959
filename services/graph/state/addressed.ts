import { nameOf } from './name-of.ts';

/** What a question shows of who may answer it. The names are those that clients read. */
export interface Addressed {
  /** The roles whose callers may answer it; absent: the owner of the thread. */
  readonly to?: readonly string[];
  /** Set where the owner of the thread may not answer it, whichever roles he has. */
  readonly not_owner?: true;
  /** How many callers must give the same answer; absent: one. */
  readonly quorum?: number;
}

interface Asking {
  readonly to?: readonly string[] | undefined;
  readonly notOwner?: boolean | undefined;
  readonly quorum?: number | undefined;
}

/** The most roles that one question is addressed to, the longest name of one in characters, and the most callers who must agree. */
const mostRoles = 16;
const longestRole = 64;
const mostCallers = 20;

/** Who may answer a question. @throws Error that names the option which is none. */
export function readAddressed({ to, notOwner, quorum }: Asking = {}): Addressed {
  if (to === undefined) {
    if (notOwner !== undefined || quorum !== undefined)
      throw new TypeError(`interrupt() is given "${quorum === undefined ? 'notOwner' : 'quorum'}" without "to"`);
    return {};
  }
  if (notOwner !== undefined && typeof notOwner !== 'boolean')
    throw new TypeError(`"notOwner" of interrupt() must be a boolean, not ${nameOf(notOwner)}`);
  return {
    to: readRoles(to),
    ...(notOwner && { not_owner: true }),
    ...(quorum !== undefined && quorum !== 1 && { quorum: readQuorum(quorum) }),
  };
}

function readRoles(to: unknown): readonly string[] {
  if (!Array.isArray(to) || to.length === 0 || to.length > mostRoles)
    throw new TypeError(
      `"to" of interrupt() must be a list of 1 to ${String(mostRoles)} roles, not ${Array.isArray(to) ? `one of ${String(to.length)}` : nameOf(to)}`,
    );
  for (const role of to as readonly unknown[])
    if (typeof role !== 'string' || role === '' || role.length > longestRole)
      throw new TypeError(
        `a role in "to" of interrupt() must be a text of 1 to ${String(longestRole)} characters, not ${typeof role === 'string' ? `one of ${String(role.length)}` : nameOf(role)}`,
      );
  return [...new Set(to as readonly string[])];
}

function readQuorum(quorum: unknown): number {
  if (Number.isInteger(quorum) && (quorum as number) >= 1 && (quorum as number) <= mostCallers) return quorum as number;
  throw new RangeError(
    `"quorum" of interrupt() must be an integer from 1 to ${String(mostCallers)}, not ${typeof quorum === 'number' ? String(quorum) : nameOf(quorum)}`,
  );
}
