import { openInProcessTicketStore, openRedisTicketStore } from '@agent-workflow/gateway/tickets';
import test from 'ava';
import { withServer } from '../servers/real-suite.ts';
import { redis } from '../servers/redis.ts';
import { openRedisKeys } from './redis-keys.ts';
import { ticketStoreContract } from './ticket-store.ts';

ticketStoreContract(test, 'in memory', async () => {
  let time = 1_000_000;
  return {
    tickets: openInProcessTicketStore({ now: () => time }),
    pass: async (ms) => {
      time += ms;
    },
  };
});

test('in memory: tickets beyond the bound are forgotten, the longest unused first', async (t) => {
  await using tickets = openInProcessTicketStore({ maxTickets: 2 });
  const grant = { owner: 'u:ada', runId: 'run' };
  for (const hash of ['a', 'b']) await tickets.put(hash, grant);
  t.deepEqual(await tickets.get('a'), grant);
  await tickets.put('c', grant);
  t.is(await tickets.get('b'), undefined);
  for (const hash of ['a', 'c']) t.deepEqual(await tickets.get(hash), grant, hash);
});

withServer(test, redis, (server) => {
  ticketStoreContract(test, 'in Redis', async (t) => {
    const keys = await openRedisKeys(t, (await server()).url);
    return { tickets: openRedisTicketStore(keys.redis), pass: keys.pass };
  });

  test('in Redis: a ticket that one replica keeps is known to the others', async (t) => {
    const keys = await openRedisKeys(t, (await server()).url);
    const grant = { owner: 'u:ada', runId: 'run' };
    await openRedisTicketStore(keys.redis).put('a', grant);
    t.deepEqual(await openRedisTicketStore(await keys.replica()).get('a'), grant);
  });
});
