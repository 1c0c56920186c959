import type { ExecutionContext } from 'ava';
import { after, before } from '../agents/dear.ts';
import { user, type Client, type Reply } from '../servers/client.ts';
import { openShop } from '../servers/shop.ts';

interface Killed {
  /** Sends until it is answered, over kills. */
  readonly send: Client['send'];
  /** Kills whatever may be running the run, and has it started again. */
  readonly kill: () => Promise<void>;
}

const refused = 'item-3';
/** In a sub-graph, of the run that tries the first one again. */
const refusedInside = 'guest-1';
/** Payments in the midst of which processes are killed: the first of them before the run fails, the others while it is tried again. */
const killedAt = ['three', 'item-4', 'item-5', 'nine', 'ten'];

/**
 * A run that fails in the eighth of ten dear steps, in a fan-out and behind an approval, is tried again while processes are killed: only the payments in
 * whose midst they were killed are made again, under the same keys. That run fails in a fan-out of a sub-graph, and the third one goes on there.
 */
export async function retryUnderKills(t: ExecutionContext, { send, kill }: Killed): Promise<void> {
  await using shop = await openShop();
  const thread = 'dear';
  const account = shop.account(thread);
  const config = { thread_id: thread, agent: 'dear', shop: shop.urlOf(thread), asks: true, desk: true };
  let sent = 0;
  const start = async (path: string, body: object): Promise<string> => {
    const reply = await send('POST', path, body, { 'idempotency-key': `request-${String(sent++)}` });
    t.is(reply.status, 202, JSON.stringify(reply.body));
    return (reply.body.data as { readonly run_id: string }).run_id;
  };
  const ended = (runId: string): Promise<Reply> => send('GET', `/v1/runs/${runId}/wait`);

  account.refused.add(refused);
  // What was killed serves again before it is killed again.
  let killing = Promise.resolve();
  for (const what of killedAt) account.meanwhile.set(what, () => (killing = killing.then(kill)));
  await ended(await start('/v1/runs', { messages: [user('go')], config }));
  const failed = await start('/v1/runs', { messages: [], resume: true, config });
  t.like(await ended(failed), { status: 500, body: { error: { code: 'NODE_ERROR' } } });
  const first = ['one', 'two', 'three', ...before.slice(2)];
  const eighth = ['beside', 'once', 'item-0', 'item-1', 'item-2', refused];
  t.deepEqual(account.paid.slice(0, first.length), first);
  t.deepEqual(account.paid.slice(first.length).toSorted(), eighth.toSorted());

  account.refused.clear();
  account.refused.add(refusedInside);
  const again = await start(`/v1/runs/${failed}/retry`, {});
  t.is((await ended(again)).status, 500);
  const rest = [refused, 'item-4', 'item-4', 'item-5', 'item-5', ...after.flatMap((what) => [what, what])];
  const inside = ['desk-open', 'guest-0', refusedInside];
  t.deepEqual(account.paid.slice(first.length + eighth.length), [...rest, ...inside]);

  account.refused.clear();
  const soFar = account.paid.length;
  account.meanwhile.set(refusedInside, () => (killing = killing.then(kill)));
  const third = await start(`/v1/runs/${again}/retry`, {});
  t.is((await ended(third)).status, 200);
  t.deepEqual(account.paid.slice(soFar), [refusedInside, refusedInside, 'guest-2', 'guest-3', 'desk-close']);
  t.true([...account.keys.values()].every(({ size }) => size === 1));
  t.is(account.meanwhile.size, 0);

  const { status, body } = await send('POST', `/v1/runs/${failed}/retry`, {});
  t.is(status, 409);
  t.regex(JSON.stringify(body), /has a later run/);
}
