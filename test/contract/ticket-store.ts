import type { ExecutionContext, TestFn } from 'ava';
import { ticketMs, type TicketStore } from '@agent-workflow/gateway/tickets';

/** An empty store, and its clock. */
interface OpenTicketStore {
  readonly tickets: TicketStore;
  /** Lets so many milliseconds of the store's own time pass. */
  readonly pass: (ms: number) => Promise<void>;
}

/** Longer than a slow machine takes between two lines, in milliseconds: how near a test goes to an end. */
const nearMs = 60_000;

/** What any store of tickets must promise. `open` gives an empty one each time. */
export function ticketStoreContract(
  test: TestFn,
  name: string,
  open: (t: ExecutionContext) => Promise<OpenTicketStore>,
): void {
  const check = (title: string, body: (t: ExecutionContext, opened: OpenTicketStore) => Promise<void>): void => {
    test(`${name}: ${title}`, async (t) => {
      const opened = await open(t);
      await using tickets = opened.tickets;
      await body(t, { ...opened, tickets });
    });
  };
  const ada = { owner: 'u:ada', runId: 'run-1' };

  check('a hash that nobody put lets in to nothing', async (t, { tickets }) => {
    await tickets.put('a', ada);
    for (const hash of ['b', 'A', 'a ', '', '*', '__proto__']) t.is(await tickets.get(hash), undefined, hash);
  });

  check('an admission comes back as it was put, as often as it is asked for', async (t, { tickets }) => {
    await tickets.put('a', ada);
    for (let asked = 0; asked < 5; asked++) t.deepEqual(await tickets.get('a'), ada);
  });

  check('owners and runs of any characters come back as they were', async (t, { tickets }) => {
    const odd = ['anon', 'u:anon', 'u:ä ö', 'u:日本', 'u:"\\', 'u::', `u:${'x'.repeat(256)}`, 'u:{}[],'];
    for (const [index, owner] of odd.entries()) await tickets.put(String(index), { owner, runId: owner });
    for (const [index, owner] of odd.entries())
      t.deepEqual(await tickets.get(String(index)), { owner, runId: owner }, owner);
  });

  check('a ticket of a thread says whose it is, and until when', async (t, { tickets }) => {
    const ofThread = { owner: 'u:ada', threadId: 't1', user: { sub: 'ada', roles: ['a'] }, until: 1_790_000_000_000 };
    await tickets.put('a', ofThread);
    await tickets.put('b', { owner: 'u:ada', threadId: 't"2' });
    t.deepEqual(await tickets.get('a'), ofThread);
    t.deepEqual(await tickets.get('b'), { owner: 'u:ada', threadId: 't"2' });
  });

  check('tickets of one run stand beside each other', async (t, { tickets }) => {
    const hashes = Array.from({ length: 50 }, (_, index) => `hash-${String(index)}`);
    await Promise.all(hashes.map((hash) => tickets.put(hash, ada)));
    t.deepEqual(await Promise.all(hashes.map((hash) => tickets.get(hash))), Array(50).fill(ada));
  });

  check('a ticket lasts for its time and no longer, however often it is used', async (t, { tickets, pass }) => {
    await tickets.put('a', ada);
    await pass(ticketMs / 2);
    t.deepEqual(await tickets.get('a'), ada);
    await tickets.put('b', { owner: 'u:bob', runId: 'run-2' });
    await pass(ticketMs / 2 - nearMs);
    t.deepEqual(await tickets.get('a'), ada);
    await pass(nearMs);
    t.is(await tickets.get('a'), undefined);
    t.like(await tickets.get('b'), { owner: 'u:bob' });
  });
}
