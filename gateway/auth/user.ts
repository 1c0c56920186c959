import { ownerOf } from '@agent-workflow/kit/ids';
import type { Principal } from '../http/principal.ts';

const maxLength = 256;

/** Characters that a person does not see, or that a store or a log could end at: two ids must not look or be kept alike. */
const unseen = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

/**
 * The principal of a user context: `user_id`, else `sub`. Both are opaque texts of 1 to 256 characters without unseen
 * ones and without space around; a whole number stands for its decimal text. `undefined` when there is no such id.
 */
export function principalOf(user: Readonly<Record<string, unknown>>): Principal | undefined {
  const id = idText(user['user_id'] ?? user['sub']);
  return id === undefined ? undefined : { owner: ownerOf(id), user };
}

function idText(id: unknown): string | undefined {
  if (typeof id === 'number') return Number.isSafeInteger(id) ? String(id) : undefined;
  if (typeof id !== 'string' || id === '' || id.length > maxLength) return undefined;
  return unseen.test(id) || id.trim() !== id ? undefined : id;
}
