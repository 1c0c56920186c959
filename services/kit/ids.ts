import { v7 } from 'uuid';

/** A new identifier: UUIDv7, so that ids made later sort later. */
export const newId = (): string => v7();

/** The owner of what is made without authentication. No user's id can be spelled like it: those begin with `u:`. */
export const anonymousOwner = 'anon';

/** The owner key of a signed-in user. */
export const ownerOf = (userId: string): string => `u:${userId}`;

/** The user's id that an owner key stands for; `undefined` for the anonymous owner. */
export const userIdOf = (owner: string): string | undefined => (owner.startsWith('u:') ? owner.slice(2) : undefined);
