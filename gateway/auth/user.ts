import { ownerOf } from '@agent-workflow/kit/ids';
import { sizes } from '@agent-workflow/kit/sizes';
import type { Principal } from '../http/principal.ts';
import { plainCopy } from './plain-copy.ts';

const maxLength = 256;

/** Characters that are invisible or that could end a text in a store or a log: two ids must not look or be stored alike. */
const invisible = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

/**
 * The principal of a user context: `user_id`, else `sub`, a string of 1 to 256 characters without invisible ones and without
 * surrounding space, or a safe integer, which counts as its decimal text. `undefined` when there is no such id.
 */
export function principalOf(user: Readonly<Record<string, unknown>>): Principal | undefined {
  const id = idText(ownMember(user, 'user_id') ?? ownMember(user, 'sub'));
  return id === undefined ? undefined : { owner: ownerOf(id), user };
}

/** What a package adds to the prototype of all objects is nobody's id. */
const ownMember = (user: Readonly<Record<string, unknown>>, name: string): unknown =>
  Object.hasOwn(user, name) ? user[name] : undefined;

/** The plain copy of a user context. It is stored with every run of the caller. @throws what `plainCopy` throws. */
export const userCopy = (user: unknown): unknown => plainCopy(user, 'the user', sizes.metadata);

function idText(id: unknown): string | undefined {
  if (typeof id === 'number') return Number.isSafeInteger(id) ? String(id) : undefined;
  if (typeof id !== 'string' || id === '' || id.length > maxLength) return undefined;
  return invisible.test(id) || id.trim() !== id ? undefined : id;
}
