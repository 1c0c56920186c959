import dns, { type LookupAddress, type LookupAllOptions } from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';
import type { ServerResponse } from 'node:http';
import test from 'ava';
import { readDelivery, type Delivery } from '@agent-workflow/protos/webhooks';
import { END, START, StateGraph } from '@agent-workflow/graph';
import { until } from '../until.ts';
import { call, endOf, owner, start } from './execution/calls.ts';
import { openReplicas, type Replicas } from './replicas.ts';
import { openReceiver } from './webhook-receiver.ts';

/** What the names of this file lead to, lookup by lookup; the last answer stays. */
const names = new Map<string, string[][]>();
const { lookup } = dns;
Object.assign(dns, {
  lookup: (hostname: string, options: LookupAllOptions, answered: (error: null, found: LookupAddress[]) => void) => {
    const answers = names.get(hostname);
    if (!answers) {
      lookup(hostname, options, answered as never);
      return;
    }
    const found = (answers.length > 1 ? answers.shift() : answers[0]) ?? [];
    answered(
      null,
      found.map((address) => ({ address, family: 4 })),
    );
  },
});
syncBuiltinESMExports();

/** The one address that may be reached, in place of a public one; every other is the inside. */
const env = { WEBHOOK_NETWORKS: '127.0.0.1' };
const inside = '127.0.0.2';

const graph = new StateGraph({})
  .addNode('say', () => ({}))
  .addEdge(START, 'say')
  .addEdge('say', END)
  .compile();

/** The connection ends with the reply: one that is kept leads where it was found to lead, and only a new one asks for the name again. */
const isFailing = (_: unknown, response: ServerResponse): void =>
  void response.writeHead(500, { connection: 'close' }).end();

async function deliveriesOf({ threads }: Replicas): Promise<readonly Delivery[]> {
  const { resources } = await threads.listResources({ kind: 'delivery', owner, limit: 100 }, call());
  return resources.map(({ json }) => readDelivery(json));
}

test.serial('a name that leads to the inside at its second lookup gets nothing there', async (t) => {
  await using receiver = await openReceiver(isFailing);
  const { port } = new URL(receiver.url);
  await using hidden = await openReceiver(undefined, inside, Number(port));
  let aheadMs = 0;
  await using replicas = await openReplicas({ now: () => Date.now() + aheadMs });
  const { execution } = await replicas.open({ graph, env });
  names.set('rebound.example', [['127.0.0.1'], [inside]]);
  const webhookJson = JSON.stringify({ url: `http://rebound.example:${port}/hook` });
  await endOf(execution, (await start(execution, { webhookJson })).runId);
  await until(async () => (await deliveriesOf(replicas))[0]?.attempts === 1);
  aheadMs = 60_000;
  await until(async () => (await deliveriesOf(replicas))[0]?.attempts === 2);
  t.is((await deliveriesOf(replicas))[0]?.last?.reason, 'the address is not one of the public internet');
  t.is(receiver.got.length, 1);
  t.deepEqual(hidden.got, []);
});

test.serial('of the addresses of a name only those are reached that may be', async (t) => {
  await using receiver = await openReceiver();
  const { port } = new URL(receiver.url);
  await using hidden = await openReceiver(undefined, inside, Number(port));
  await using replicas = await openReplicas();
  const { execution } = await replicas.open({ graph, env });
  names.set('mixed.example', [[inside, '169.254.169.254', '127.0.0.1']]);
  const webhookJson = JSON.stringify({ url: `http://mixed.example:${port}/hook` });
  await endOf(execution, (await start(execution, { webhookJson })).runId);
  await until(async () => receiver.got.length === 1 && (await deliveriesOf(replicas)).length === 0);
  t.deepEqual(hidden.got, []);
});

test.serial('a redirect to the inside is not followed, whatever its status', async (t) => {
  await using hidden = await openReceiver(undefined, inside);
  const statuses = [301, 302, 303, 307, 308];
  await using receiver = await openReceiver((_, response) => {
    response.writeHead(statuses.shift() ?? 500, { location: hidden.url }).end();
  });
  await using replicas = await openReplicas();
  const { execution } = await replicas.open({ graph, env });
  const webhookJson = JSON.stringify({ url: receiver.url });
  const count = statuses.length;
  for (let times = 0; times < count; times++) await endOf(execution, (await start(execution, { webhookJson })).runId);
  await until(async () => (await deliveriesOf(replicas)).filter(({ attempts }) => attempts === 1).length === count);
  t.deepEqual((await deliveriesOf(replicas)).map(({ last }) => last?.status).toSorted(), [301, 302, 303, 307, 308]);
  t.deepEqual(hidden.got, []);
});
