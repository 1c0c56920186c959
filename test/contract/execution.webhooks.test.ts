import test from 'ava';
import { Webhook as Verifier } from 'standardwebhooks';
import { END, START, StateGraph, type CompiledGraph } from '@agent-workflow/graph';
import { createRemoval } from '@agent-workflow/execution/webhooks/open';
import { newId } from '@agent-workflow/kit/ids';
import { pause } from '@agent-workflow/kit/retry';
import { sizes } from '@agent-workflow/kit/sizes';
import {
  readDelivery,
  readOutboxEntry,
  readWebhook,
  toWebhookJson,
  webhookBounds,
  type Delivery,
  type Webhook,
  type WebhookTarget,
} from '@agent-workflow/protos/webhooks';
import { never } from '@agent-workflow/protos/call';
import { createDueSweep } from '@agent-workflow/runtime/due-sweep';
import { until } from '../until.ts';
import { call, endOf, owner, start } from './execution/calls.ts';
import { openReplicas, type Ground, type Replica, type Replicas } from './replicas.ts';
import { openReceiver, type Received } from './webhook-receiver.ts';

const hourMs = 3_600_000;
const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const env = { WEBHOOK_NETWORKS: '127.0.0.0/8' };

const saying = (text: string): CompiledGraph =>
  new StateGraph({})
    .addNode('say', (_state, ctx) => {
      ctx.emit(text);
      return {};
    })
    .addEdge(START, 'say')
    .addEdge('say', END)
    .compile();

const failing = new StateGraph({})
  .addNode('fail', () => {
    throw new Error('no luck');
  })
  .addEdge(START, 'fail')
  .addEdge('fail', END)
  .compile();

const asking = new StateGraph({})
  .addNode('ask', (_state, ctx) => {
    ctx.interrupt('May I?');
    return {};
  })
  .addEdge(START, 'ask')
  .addEdge('ask', END)
  .compile();

/** A record whose clock can be moved. */
async function openGround() {
  let aheadMs = 0;
  const replicas = await openReplicas({ now: () => Date.now() + aheadMs });
  return {
    replicas,
    pass: (ms: number) => void (aheadMs += ms),
    [Symbol.asyncDispose]: () => replicas[Symbol.asyncDispose](),
  };
}

const sentTo = (webhook: WebhookTarget): { readonly webhookJson: string } => ({ webhookJson: JSON.stringify(webhook) });

interface Shown extends Delivery {
  readonly id: string;
  readonly state: 'pending' | 'dead';
}

async function deliveriesOf({ threads }: Replicas): Promise<readonly Shown[]> {
  const listed = async (kind: 'delivery' | 'dead_letter', state: Shown['state']): Promise<Shown[]> => {
    const { resources } = await threads.listResources({ kind, owner, limit: 1000 }, call());
    return resources.map(({ id, json }) => ({ ...readDelivery(json), id, state }));
  };
  return [...(await listed('delivery', 'pending')), ...(await listed('dead_letter', 'dead'))];
}

const isDone = async (replicas: Replicas): Promise<boolean> => {
  const { count } = await replicas.threads.countResources({ kind: 'outbox', owner, atMost: 1 }, call());
  return count === 0 && (await deliveriesOf(replicas)).length === 0;
};

const register = async ({ threads }: Replicas, parts: Partial<Webhook>): Promise<string> => {
  const id = newId();
  const json = toWebhookJson({ url: '', secret, events: [], isEnabled: true, ...parts });
  await threads.putResource({ kind: 'webhook', owner, id, version: 1, json }, call());
  return id;
};

interface Event {
  readonly type: string;
  readonly timestamp: string;
  readonly data: Readonly<Record<string, unknown>> & { readonly result?: Readonly<Record<string, unknown>> };
}

const eventIn = ({ body }: Received): Event => JSON.parse(body) as Event;

test('the end of a run is sent to its webhook, signed as Standard Webhooks say', async (t) => {
  await using receiver = await openReceiver();
  await using ground = await openGround();
  const { execution } = await ground.replicas.open({ graph: saying('hello'), env });
  const { runId, threadId } = await start(execution, sentTo({ url: receiver.url, secret }));
  await endOf(execution, runId);
  await until(() => isDone(ground.replicas));
  const [got] = receiver.got;
  t.is(receiver.got.length, 1);
  if (!got) return;
  const event = new Verifier(secret).verify(got.body, got.headers as Record<string, string>) as Event;
  t.like(event, { type: 'run.completed', data: { run_id: runId, thread_id: threadId, status: 'completed' } });
  t.like(event.data.result, { iterations: 1, meta: { status: 'completed' } });
  t.true(got.body.includes('"hello"'));
  t.throws(() => new Verifier(secret).verify(`${got.body} `, got.headers as Record<string, string>));
});

test('failed, interrupted and stopped runs have each their event, and only what is asked for', async (t) => {
  await using receiver = await openReceiver();
  await using ground = await openGround();
  const failed = await ground.replicas.open({ graph: failing, env });
  await endOf(failed.execution, (await start(failed.execution, sentTo({ url: receiver.url }))).runId);
  await until(() => isDone(ground.replicas));
  const [got] = receiver.got;
  t.like(got && eventIn(got), { type: 'run.failed', data: { error: { code: 'NODE_ERROR', node: 'fail' } } });
  t.is(got?.headers['webhook-signature'], undefined);
  await failed.drain(1000);
  failed.kill();
  const { execution } = await ground.replicas.open({ graph: asking, env });
  await endOf(execution, (await start(execution, sentTo({ url: receiver.url, events: ['run.failed'] }))).runId);
  await endOf(execution, (await start(execution, sentTo({ url: receiver.url, events: ['run.interrupted'] }))).runId);
  await until(() => isDone(ground.replicas));
  t.is(receiver.got.length, 2);
  const [, asked] = receiver.got;
  t.like(asked && eventIn(asked), { type: 'run.interrupted', data: { result: { meta: { status: 'interrupted' } } } });
  t.true(asked?.body.includes('May I?'));
});

test('what fails is sent again with the same id and bytes, later each time, until it is taken', async (t) => {
  let fails = 3;
  await using receiver = await openReceiver((_, response) => void response.writeHead(fails-- > 0 ? 500 : 200).end());
  await using ground = await openGround();
  const { execution } = await ground.replicas.open({ graph: saying('hello'), env });
  await endOf(execution, (await start(execution, sentTo({ url: receiver.url, secret }))).runId);
  const waits = [10_000, 60_000, 5 * 60_000];
  for (const [index, ms] of waits.entries()) {
    await until(async () => (await deliveriesOf(ground.replicas))[0]?.attempts === index + 1);
    t.like((await deliveriesOf(ground.replicas))[0], { state: 'pending', last: { status: 500 } });
    ground.pass(ms);
  }
  await until(() => isDone(ground.replicas));
  t.is(receiver.got.length, 4);
  t.is(new Set(receiver.got.map(({ id, body }) => `${id} ${body}`)).size, 1);
});

test('what fails for three days is dead', async (t) => {
  await using receiver = await openReceiver((_, response) => void response.writeHead(500).end());
  await using ground = await openGround();
  const { execution } = await ground.replicas.open({ graph: saying('hello'), env });
  await endOf(execution, (await start(execution, sentTo({ url: receiver.url }))).runId);
  await until(() => receiver.got.length === 1);
  let seen = 1;
  for (let hours = 0; hours < 90 * 24; hours += 10) {
    const [delivery] = await deliveriesOf(ground.replicas);
    if (delivery?.state === 'dead') break;
    ground.pass(10 * hourMs);
    await until(
      async () =>
        (await deliveriesOf(ground.replicas))[0]?.attempts === seen + 1 ||
        (await deliveriesOf(ground.replicas))[0]?.state === 'dead',
    );
    seen += 1;
  }
  const [dead] = await deliveriesOf(ground.replicas);
  t.like(dead, { state: 'dead', last: { status: 500, reason: 'the reply has the status 500' } });
  const sent = receiver.got.length;
  t.is(receiver.got.length, sent);
});

/** The record, and how often objects of each kind were written, removed and read by themselves through it. */
function counting(): { readonly counts: Map<string, number>; readonly through: (ground: Ground) => Partial<Ground> } {
  const counts = new Map<string, number>();
  const count = (name: string): void => void counts.set(name, (counts.get(name) ?? 0) + 1);
  const through = ({ threads }: Ground): Partial<Ground> => ({
    threads: {
      ...threads,
      putResource: async (request, made) => {
        count(`put ${request.kind}`);
        return threads.putResource(request, made);
      },
      deleteResource: async (request, made) => {
        count(`delete ${request.kind}`);
        return threads.deleteResource(request, made);
      },
      getResource: async (request, made) => {
        count(`get ${request.kind}`);
        return threads.getResource(request, made);
      },
    },
  });
  return { counts, through };
}

test('an end that is taken at once is written once and removed once, also where many come to one host', async (t) => {
  await using receiver = await openReceiver((_, response) => void setTimeout(() => response.writeHead(204).end(), 20));
  await using ground = await openGround();
  const { counts, through } = counting();
  const { execution } = await ground.replicas.open({ graph: saying('hello'), env, through });
  const ends = 30;
  for (let times = 0; times < ends; times++) await start(execution, sentTo({ url: receiver.url }));
  await until(async () => receiver.got.length === ends && (await isDone(ground.replicas)));
  t.deepEqual(Object.fromEntries(counts), { 'put outbox': ends, 'delete outbox': ends, 'get outbox': ends });
});

test('to see after a wait whether a webhook is still there costs no read of its own', async (t) => {
  await using receiver = await openReceiver((_, response) => void setTimeout(() => response.writeHead(204).end(), 200));
  await using ground = await openGround();
  const { counts, through } = counting();
  const { execution } = await ground.replicas.open({ graph: saying('hello'), env, through });
  await register(ground.replicas, { url: receiver.url });
  const ends = 30;
  for (let times = 0; times < ends; times++) await start(execution);
  await until(async () => receiver.got.length === ends && (await isDone(ground.replicas)));
  t.deepEqual(Object.fromEntries(counts), { 'put outbox': ends, 'delete outbox': ends, 'get outbox': ends });
});

test('a first attempt that ends with its process is made again by another, with the same id and bytes', async (t) => {
  let isHanging = true;
  await using receiver = await openReceiver((_, response) => isHanging || void response.writeHead(204).end());
  await using ground = await openGround();
  const first = await ground.replicas.open({ graph: saying('hello'), env });
  await endOf(first.execution, (await start(first.execution, sentTo({ url: receiver.url }))).runId);
  await until(() => receiver.got.length === 1);
  t.deepEqual(await deliveriesOf(ground.replicas), []);
  first.kill();
  isHanging = false;
  await ground.replicas.open({ graph: saying('hello'), env });
  ground.pass(60_000);
  await until(() => isDone(ground.replicas));
  t.is(receiver.got.length, 2);
  t.is(new Set(receiver.got.map(({ id, body }) => `${id} ${body}`)).size, 1);
});

test('an address of the inside is sent nothing, and the delivery says why', async (t) => {
  await using receiver = await openReceiver();
  await using ground = await openGround();
  const { execution } = await ground.replicas.open({ graph: saying('hello') });
  for (const url of [receiver.url, receiver.url.replace('127.0.0.1', 'localhost')]) {
    await t.throwsAsync(start(execution, sentTo({ url })), { message: /^webhook\.url: cannot be sent to/ });
    await register(ground.replicas, { url });
  }
  await endOf(execution, (await start(execution)).runId);
  await until(async () => (await deliveriesOf(ground.replicas)).filter(({ attempts }) => attempts === 1).length === 2);
  for (const { last } of await deliveriesOf(ground.replicas))
    t.is(last?.reason, 'the address is not one of the public internet');
  t.deepEqual(receiver.got, []);
});

test('only hosts that the operator allows are sent anything', async (t) => {
  await using receiver = await openReceiver();
  await using ground = await openGround();
  const allowed = { ...env, WEBHOOK_HOSTS: 'hooks.example.com,*.example.org' };
  const { execution } = await ground.replicas.open({ graph: saying('hello'), env: allowed });
  await t.throwsAsync(start(execution, sentTo({ url: receiver.url })), { message: /^webhook\.url: cannot be sent to/ });
  await register(ground.replicas, { url: receiver.url });
  await endOf(execution, (await start(execution)).runId);
  await until(async () => (await deliveriesOf(ground.replicas))[0]?.state === 'dead');
  t.deepEqual(receiver.got, []);
});

test('a receiver that hangs holds up no other', async (t) => {
  await using hanging = await openReceiver(() => undefined);
  await using receiver = await openReceiver();
  await using ground = await openGround();
  const { execution } = await ground.replicas.open({ graph: saying('hello'), env });
  for (let times = 0; times < 20; times++) await start(execution, sentTo({ url: hanging.url }));
  await until(() => hanging.got.length === 4);
  for (let times = 0; times < 20; times++) await start(execution, sentTo({ url: receiver.url }));
  await until(() => receiver.got.length === 20, { timeoutMs: 60_000 });
  t.true(hanging.got.length <= 8);
});

test('webhooks of the owner are sent the events that they name; a replaced secret signs beside its successor', async (t) => {
  await using all = await openReceiver();
  await using some = await openReceiver();
  await using ground = await openGround();
  const { execution } = await ground.replicas.open({ graph: saying('hello'), env });
  const old = `whsec_${Buffer.alloc(24, 9).toString('base64')}`;
  await register(ground.replicas, { url: all.url, oldSecret: { secret: old, until: Date.now() + hourMs } });
  await register(ground.replicas, { url: some.url, events: ['run.failed'] });
  await register(ground.replicas, { url: some.url, isEnabled: false });
  await endOf(execution, (await start(execution)).runId);
  await until(() => isDone(ground.replicas));
  t.deepEqual([all.got.length, some.got.length], [1, 0]);
  const [got] = all.got;
  for (const one of [secret, old])
    t.notThrows(() => new Verifier(one).verify(got?.body ?? '', got?.headers as Record<string, string>));
});

test('a webhook whose receiver is gone is disabled, and what waits for it is kept as dead', async (t) => {
  await using receiver = await openReceiver((_, response) => void response.writeHead(410).end());
  await using ground = await openGround();
  const { execution } = await ground.replicas.open({ graph: saying('hello'), env });
  const id = await register(ground.replicas, { url: receiver.url });
  await endOf(execution, (await start(execution)).runId);
  await until(async () => (await deliveriesOf(ground.replicas))[0]?.state === 'dead');
  t.like((await deliveriesOf(ground.replicas))[0], { attempts: 1, last: { status: 410 } });
  const read = async () =>
    readWebhook((await ground.replicas.threads.getResource({ kind: 'webhook', owner, id }, call())).json);
  await until(async () => !(await read()).isEnabled);
  t.is((await read()).disabledBecause, 'its receiver replied that it is gone');
  await start(execution, sentTo({ url: receiver.url }));
  await until(async () => (await deliveriesOf(ground.replicas)).filter(({ state }) => state === 'dead').length === 2);
  t.deepEqual(
    (await deliveriesOf(ground.replicas)).map(({ state, last }) => [state, last?.status]),
    [
      ['dead', 410],
      ['dead', 410],
    ],
  );
  t.is(receiver.got.length, 2);
});

test('where several attempts hear at once that their receiver is gone, each delivery is kept as dead', async (t) => {
  const ends = 3;
  const held: (() => void)[] = [];
  await using receiver = await openReceiver((_, response) => {
    held.push(() => void response.writeHead(410).end());
    if (held.length === ends) for (const reply of held) reply();
  });
  await using ground = await openGround();
  const through = ({ threads }: Ground): Partial<Ground> => ({
    threads: {
      ...threads,
      // All have read the webhook before the first disables it.
      getResource: async (request, made) => {
        const found = await threads.getResource(request, made);
        if (request.kind === 'webhook') await pause(200);
        return found;
      },
    },
  });
  const { execution } = await ground.replicas.open({ graph: saying('hello'), env, through });
  const id = await register(ground.replicas, { url: receiver.url });
  for (let times = 0; times < ends; times++) await start(execution);
  await until(async () => {
    const { count } = await ground.replicas.threads.countResources({ kind: 'outbox', owner, atMost: 10 }, call());
    return held.length === ends && count === 0;
  });
  t.deepEqual(
    (await deliveriesOf(ground.replicas)).map(({ state }) => state),
    ['dead', 'dead', 'dead'],
  );
  await until(async () => {
    const { json } = await ground.replicas.threads.getResource({ kind: 'webhook', owner, id }, call());
    return !readWebhook(json).isEnabled;
  });
});

test('what waits for a webhook that is disabled is dead, and says how its last attempt ended', async (t) => {
  await using receiver = await openReceiver((_, response) => void response.writeHead(500).end());
  await using ground = await openGround();
  const { execution } = await ground.replicas.open({ graph: saying('hello'), env });
  const id = await register(ground.replicas, { url: receiver.url });
  await endOf(execution, (await start(execution)).runId);
  await until(async () => (await deliveriesOf(ground.replicas))[0]?.attempts === 1);
  const { json } = await ground.replicas.threads.getResource({ kind: 'webhook', owner, id }, call());
  const disabled = { ...readWebhook(json), isEnabled: false };
  const version = 2;
  await ground.replicas.threads.putResource(
    { kind: 'webhook', owner, id, version, json: toWebhookJson(disabled) },
    call(),
  );
  ground.pass(60_000);
  await until(async () => (await deliveriesOf(ground.replicas))[0]?.state === 'dead');
  const [dead] = await deliveriesOf(ground.replicas);
  t.like(dead, { last: { status: 500, reason: 'the webhook is disabled' } });
});

test('what waits for a webhook that is deleted goes with it', async (t) => {
  await using receiver = await openReceiver((_, response) => void response.writeHead(500).end());
  await using ground = await openGround();
  const { execution } = await ground.replicas.open({ graph: saying('hello'), env });
  const id = await register(ground.replicas, { url: receiver.url });
  await endOf(execution, (await start(execution)).runId);
  await until(async () => (await deliveriesOf(ground.replicas))[0]?.attempts === 1);
  await ground.replicas.threads.deleteResource({ kind: 'webhook', owner, id, version: 1 }, call());
  ground.pass(60_000);
  await until(() => isDone(ground.replicas));
  t.is(receiver.got.length, 1);
});

/** A receiver that replies to nobody until it is told to, with 204 then and afterwards. */
async function openHeldReceiver() {
  const held: (() => void)[] = [];
  let isHeld = true;
  const receiver = await openReceiver((_, response) => {
    const reply = (): void => void response.writeHead(204).end();
    if (isHeld) held.push(reply);
    else reply();
  });
  const release = (): void => {
    isHeld = false;
    for (const reply of held.splice(0)) reply();
  };
  return { ...receiver, url: receiver.url, got: receiver.got, release };
}

/** Attempts to one host at the same time; the others wait in memory. */
const atOneHost = 4;
const deliveries = 6;
/** Longer than the list of webhooks is used that a process has read. */
const listedMs = 150;

/** Makes deliveries of which some are under way and the others wait in memory, by the way that they come there. */
const waysIntoMemory = {
  'a first attempt': async ({ threads }: Replicas, { execution }: Replica) => {
    for (let times = 0; times < deliveries; times++) await start(execution);
    await until(async () => {
      const { resources } = await threads.listResources({ kind: 'outbox', owner, limit: 100 }, call());
      return resources.filter(({ json }) => readOutboxEntry(json).settled).length === deliveries;
    });
  },
  'a delivery on record': async ({ threads }: Replicas, _: Replica, webhookId: string) => {
    const json = toWebhookJson({ webhookId, event: 'webhook.test', since: Date.now(), attempts: 0, body: '{}' });
    for (let times = 0; times < deliveries; times++)
      await threads.putResource({ kind: 'delivery', owner, id: newId(), version: 1, json, dueAt: Date.now() }, call());
  },
};

for (const [way, make] of Object.entries(waysIntoMemory)) {
  const waiting = async () => {
    const held = await openHeldReceiver();
    const ground = await openGround();
    const replica = await ground.replicas.open({ graph: saying('hello'), env });
    const id = await register(ground.replicas, { url: held.url });
    const found = await ground.replicas.threads.getResource({ kind: 'webhook', owner, id }, call());
    await make(ground.replicas, replica, id);
    await until(() => held.got.length === atOneHost);
    await pause(listedMs);
    const change = async (parts: Partial<Webhook>) => {
      const json = toWebhookJson({ ...readWebhook(found.json), ...parts });
      const key = { kind: 'webhook', owner, id } as const;
      await ground.replicas.threads.putResource({ ...key, version: found.version + 1, json }, call());
    };
    return { held, ground, id, change };
  };

  test(`${way} that waits in memory for a webhook which is deleted meanwhile is not made`, async (t) => {
    const { held, ground, id } = await waiting();
    await using _ = held;
    await using __ = ground;
    await ground.replicas.threads.deleteResource({ kind: 'webhook', owner, id, version: 1 }, call());
    await pause(listedMs);
    held.release();
    await until(() => isDone(ground.replicas));
    t.is(held.got.length, atOneHost);
  });

  test(`${way} that waits in memory for a webhook which is disabled meanwhile is dead`, async (t) => {
    const { held, ground, change } = await waiting();
    await using _ = held;
    await using __ = ground;
    await change({ isEnabled: false });
    await pause(listedMs);
    held.release();
    const dead = async () => (await deliveriesOf(ground.replicas)).filter(({ state }) => state === 'dead');
    await until(async () => (await dead()).length === deliveries - atOneHost);
    t.deepEqual(new Set((await dead()).map(({ last }) => last?.reason)), new Set(['the webhook is disabled']));
    t.is(held.got.length, atOneHost);
  });

  test(`${way} that waits in memory for a webhook which is changed meanwhile goes to its new address`, async (t) => {
    const { held, ground, change } = await waiting();
    await using _ = held;
    await using __ = ground;
    await using other = await openReceiver();
    await change({ url: other.url });
    await pause(listedMs);
    held.release();
    await until(() => isDone(ground.replicas));
    t.is(held.got.length, atOneHost);
    t.is(other.got.length, deliveries - atOneHost);
  });
}

test('a receiver that says it is gone from an address which its webhook has no more disables nothing', async (t) => {
  const replies: (() => void)[] = [];
  await using old = await openReceiver((_, response) => replies.push(() => void response.writeHead(410).end()));
  await using other = await openReceiver();
  await using ground = await openGround();
  const { execution } = await ground.replicas.open({ graph: saying('hello'), env });
  const id = await register(ground.replicas, { url: old.url });
  const key = { kind: 'webhook', owner, id } as const;
  await start(execution);
  await until(() => replies.length === 1);
  const { json } = await ground.replicas.threads.getResource(key, call());
  const moved = { ...readWebhook(json), url: other.url };
  await ground.replicas.threads.putResource({ ...key, version: 2, json: toWebhookJson(moved) }, call());
  for (const reply of replies) reply();
  await until(async () => (await deliveriesOf(ground.replicas))[0]?.attempts === 1);
  t.like((await deliveriesOf(ground.replicas))[0], { state: 'pending', last: { status: 410 } });
  ground.pass(60_000);
  await until(() => isDone(ground.replicas));
  t.deepEqual([old.got.length, other.got.length], [1, 1]);
  const after = await ground.replicas.threads.getResource(key, call());
  t.true(readWebhook(after.json).isEnabled);
  t.is(after.version, 2);
});

test('a result that is too large is left out, and the event says so', async (t) => {
  await using receiver = await openReceiver();
  await using ground = await openGround();
  const { execution } = await ground.replicas.open({ graph: saying('"'.repeat(sizes.webhookBody)), env });
  const { runId } = await start(execution, sentTo({ url: receiver.url }));
  await endOf(execution, runId);
  await until(() => receiver.got.length === 1);
  const [got] = receiver.got;
  t.like(got && eventIn(got).data, { run_id: runId, status: 'completed', truncated: true, result: undefined });
  t.true(Buffer.byteLength(got?.body ?? '') <= sizes.webhookBody);
});

test('a dead delivery is removed after thirty days', async (t) => {
  await using ground = await openGround();
  const { execution } = await ground.replicas.open({ graph: saying('hello'), env: { WEBHOOK_HOSTS: 'example.com' } });
  await register(ground.replicas, { url: 'https://example.org' });
  await endOf(execution, (await start(execution)).runId);
  await until(async () => (await deliveriesOf(ground.replicas))[0]?.state === 'dead');
  const { threads } = ground.replicas;
  const log = { error: t.fail };
  const sweep = createDueSweep({
    threads,
    kind: 'dead_letter',
    handle: createRemoval(threads, 'dead_letter'),
    handleMs: 10_000,
    log,
  });
  ground.pass(30 * 24 * hourMs - 60_000);
  await sweep(never);
  t.is((await deliveriesOf(ground.replicas)).length, 1);
  ground.pass(120_000);
  await sweep(never);
  t.deepEqual(await deliveriesOf(ground.replicas), []);
});

test('an end beyond the deliveries that an owner may have waiting is dead at once, and one beyond the dead ones is not kept', async (t) => {
  await using receiver = await openReceiver();
  await using ground = await openGround();
  const { pending } = webhookBounds;
  const full = new Set(['delivery']);
  /** The record of an owner that has as many as may be. */
  const through = ({ threads }: Ground): Partial<Ground> => ({
    threads: {
      ...threads,
      countResources: async (request, made) =>
        full.has(request.kind) ? { count: pending } : threads.countResources(request, made),
    },
  });
  const { execution } = await ground.replicas.open({ graph: saying('hello'), env, through });
  await endOf(execution, (await start(execution, sentTo({ url: receiver.url }))).runId);
  await until(async () => (await deliveriesOf(ground.replicas))[0]?.state === 'dead');
  const [dead] = await deliveriesOf(ground.replicas);
  t.is(dead?.last?.reason, 'too many deliveries of the owner wait');
  full.add('dead_letter');
  const other = await ground.replicas.open({ graph: saying('hello'), env, through });
  await endOf(other.execution, (await start(other.execution, sentTo({ url: receiver.url }))).runId);
  await until(async () => {
    const { count } = await ground.replicas.threads.countResources({ kind: 'outbox', owner, atMost: 1 }, call());
    return count === 0;
  });
  t.true((await deliveriesOf(ground.replicas)).length <= 2);
  t.deepEqual(receiver.got, []);
});

test('of three replicas that nobody kills each end is sent once, also beside a delivery that cannot be read', async (t) => {
  await using receiver = await openReceiver();
  await using ground = await openGround();
  const { replicas } = ground;
  const poisoned = { kind: 'delivery', owner, id: newId(), version: 1, dueAt: Date.now() } as const;
  await replicas.threads.putResource({ ...poisoned, json: Buffer.from('null') }, call());
  const opened = await Promise.all(Array.from({ length: 3 }, () => replicas.open({ graph: saying('hello'), env })));
  const runs = await Promise.all(
    Array.from({ length: 60 }, async (_, n) => {
      const { execution } = opened[n % opened.length] as Replica;
      return (await start(execution, sentTo({ url: receiver.url }))).runId;
    }),
  );
  await until(async () => {
    const { count } = await replicas.threads.countResources({ kind: 'delivery', owner, atMost: 100 }, call());
    return receiver.got.length >= runs.length && count === 1;
  });
  const sent = receiver.got.map((got) => eventIn(got).data['run_id']);
  t.deepEqual(sent.toSorted(), runs.toSorted());
  t.is(new Set(receiver.got.map(({ id }) => id)).size, runs.length);
});

test('whatever dies, each end is sent at least once, and always with the same bytes under one id', async (t) => {
  let count = 0;
  await using receiver = await openReceiver((_, response) => {
    count += 1;
    if (count % 5 === 0) response.destroy();
    else response.writeHead(count % 3 === 0 ? 503 : 200).end();
  });
  await using ground = await openGround();
  const { replicas } = ground;
  await register(replicas, { url: receiver.url });
  const runs: string[] = [];
  for (let round = 0; round < 6; round++) {
    const replica = await replicas.open({ graph: saying('hello'), env });
    for (let times = 0; times < 5; times++) {
      const { runId } = await start(replica.execution, sentTo({ url: receiver.url, secret }));
      runs.push(runId);
      await endOf(replica.execution, runId);
    }
    const enough = receiver.got.length + round;
    if (round > 0) await until(() => receiver.got.length >= enough);
    replica.kill();
    ground.pass(120_000);
  }
  await replicas.open({ graph: saying('hello'), env });
  await until(
    async () => {
      ground.pass(60_000);
      return isDone(replicas);
    },
    { timeoutMs: 90_000 },
  );
  const bodies = new Map<string, Set<string>>();
  for (const { id, body } of receiver.got) bodies.set(id, (bodies.get(id) ?? new Set()).add(body));
  for (const [id, all] of bodies) t.is(all.size, 1, id);
  for (const runId of runs) {
    const ids = [...bodies].filter(([, all]) => [...all].some((body) => body.includes(runId))).map(([id]) => id);
    t.is(ids.length, 2, 'lost: to the webhook of the run and to that of the owner');
  }
});
