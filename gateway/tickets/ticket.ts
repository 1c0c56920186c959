import { createHash, randomBytes } from 'node:crypto';
import { ticketMs, type TicketGrant, type TicketStore } from './port.ts';

interface Ticket {
  /** 256 random bits as base64url. */
  readonly text: string;
  /** When it expires: milliseconds since 1970 UTC. */
  readonly expiresAt: number;
}

/**
 * Makes a ticket. Only its hash is stored, so that nobody finds a ticket in the store.
 * @throws Unavailable when it cannot be stored.
 */
export async function makeTicket(store: TicketStore, grant: TicketGrant): Promise<Ticket> {
  const text = randomBytes(32).toString('base64url');
  // The clock is read before the ticket is stored: the ticket may be valid a moment longer than it says, never shorter.
  const expiresAt = Date.now() + ticketMs;
  await store.put(hashOf(text), grant);
  return { text, expiresAt };
}

/** The grant of a ticket; `undefined` for a text that is no ticket, or an expired one. */
export const grantOf = (store: TicketStore, text: string): Promise<TicketGrant | undefined> => store.get(hashOf(text));

const hashOf = (text: string): string => createHash('sha256').update(text).digest('base64url');
