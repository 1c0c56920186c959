import { createHash, randomBytes } from 'node:crypto';
import { ticketMs, type Admission, type TicketStore } from './port.ts';

export interface Ticket {
  /** 256 random bits as base64url: who has it is let in. */
  readonly text: string;
  /** When it lets nobody in any more: milliseconds since 1970 UTC. */
  readonly expiresAt: number;
}

/**
 * Makes a ticket. Only its hash is kept, so that nobody finds a ticket by looking where they are.
 * @throws Unavailable when it cannot be kept.
 */
export async function makeTicket(store: TicketStore, admission: Admission): Promise<Ticket> {
  const text = randomBytes(32).toString('base64url');
  // Read before it is kept: it may last a moment longer than it says, never shorter.
  const expiresAt = Date.now() + ticketMs;
  await store.put(hashOf(text), admission);
  return { text, expiresAt };
}

/** What a ticket lets into; `undefined` for a text that is none, or none any more. */
export const admissionOf = (store: TicketStore, text: string): Promise<Admission | undefined> =>
  store.get(hashOf(text));

const hashOf = (text: string): string => createHash('sha256').update(text).digest('base64url');
