import test from 'ava';
import type { TicketGrant, TicketStore } from './port.ts';
import { openInProcessTicketStore } from './in-process.ts';
import { grantOf, makeTicket } from './ticket.ts';

/** A store that writes down all that is put into it. */
function openNoted(): TicketStore & { readonly puts: unknown[] } {
  const store = openInProcessTicketStore();
  const puts: unknown[] = [];
  return {
    ...store,
    puts,
    put: (hash, grant) => {
      puts.push(hash, grant);
      return store.put(hash, grant);
    },
  };
}

const ada: TicketGrant = { owner: 'u:ada', runId: 'run-1' };

test('a ticket lets in to what it was made for, again and again, and what resembles it does not', async (t) => {
  await using store = openNoted();
  const { text } = await makeTicket(store, ada);
  for (let used = 0; used < 3; used++) t.deepEqual(await grantOf(store, text), ada);
  for (const other of ['', text.slice(1), `${text}=`, text.toUpperCase(), ` ${text}`, String(store.puts[0])])
    t.is(await grantOf(store, other), undefined, other);
});

test('a ticket is 256 bits that no other is, fit for an address as it stands, and says when it ends', async (t) => {
  await using store = openNoted();
  const before = Date.now();
  const tickets = await Promise.all(Array.from({ length: 1000 }, () => makeTicket(store, ada)));
  t.is(new Set(tickets.map(({ text }) => text)).size, 1000);
  for (const { text, expiresAt } of tickets) {
    t.regex(text, /^[A-Za-z0-9_-]{43}$/);
    t.true(expiresAt >= before + 600_000 && expiresAt <= Date.now() + 600_000);
  }
  // Of random bits each position shows many characters; the last one holds four bits.
  for (let at = 0; at < 42; at++) t.true(new Set(tickets.map(({ text }) => text[at])).size > 50, String(at));
});

test('the store is never given the ticket', async (t) => {
  await using store = openNoted();
  const { text } = await makeTicket(store, ada);
  const puts = JSON.stringify(store.puts);
  t.false(puts.includes(text));
  t.false(puts.includes(Buffer.from(text, 'base64url').toString('hex')));
});
