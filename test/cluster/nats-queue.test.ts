import { setTimeout as pause } from 'node:timers/promises';
import test from 'ava';
import { createLanes, bulkSize } from '@agent-workflow/execution/adapters/nats/queue/lanes';
import { openNatsRunQueue } from '@agent-workflow/execution/adapters/nats/queue/queue';
import { openNatsRunLog } from '@agent-workflow/execution/adapters/nats/log/log';
import { consumerOf, hashOfPool, laneCountsOf } from '@agent-workflow/execution/adapters/nats/client/pools';
import type { RunnableRun, RunQueue } from '@agent-workflow/execution/ports/queue';
import { createLog } from '@agent-workflow/kit/log';
import { never } from '@agent-workflow/protos/call';
import { joined, openPlace } from '../servers/nats-adapters.ts';
import { openNatsCluster } from '../servers/nats-cluster.ts';
import { privateNats } from '../servers/nats.ts';
import { withServerForLong } from '../servers/real-suite.ts';
import { openStallingProxy } from '../servers/stalling-proxy.ts';
import { until } from '../until.ts';
import { eventOf, scopeOf } from '../events.ts';
import { byLoad } from '../by-load.ts';

const { own, bulk } = laneCountsOf({ agent: 'default' });
const allLanes = own + bulk;
/** What a worker holds whose agents have no names. */
const unnamed = { agents: ['default'] };

const silentLog = createLog('test', 'silent');

withServerForLong(test, privateNats(), () => {
  test.serial('whoever has 1,000 runs waiting holds up another owner for a few turns only', async (t) => {
    await using server = await privateNats().open();
    await using queue = await openQueue(server.url, 'fair');
    for (let index = 0; index < 1000; index++) await queue.enqueue(run('u:noisy', `n${index}`));
    const alone = 'u:quiet';
    const sharing = ownerInLaneOf('u:noisy');
    await queue.enqueue(run(alone, 'alone'));
    await queue.enqueue(run(sharing, 'sharing'));
    const order: string[] = [];
    while (!order.includes('alone') || !order.includes('sharing')) order.push(await takeOne(queue));
    t.log(
      `turns waited: ${order.indexOf('alone')} in a lane of its own, ${order.indexOf('sharing')} in the noisy one's`,
    );
    t.true(order.indexOf('alone') <= allLanes);
    // Behind what one owner may put into a lane before it counts as a heap, with the turns of its heap between.
    t.true(order.indexOf('sharing') <= 4 * bulkSize + allLanes);
    const rest = new Set(order);
    while (rest.size < 1002) rest.add(await takeOne(queue));
    t.is(queue.waiting(), 0);
  });

  test.serial('a worker takes runs of each of 180 agents', async (t) => {
    await using server = await privateNats().open();
    await using queue = await openQueue(server.url, 'agents');
    const agents = Array.from({ length: 180 }, (_, index) => `agent-${String(index)}`);
    const seen = new Set<string | undefined>();
    const taken = agents.map(async () => {
      const { run: each, settle } = await queue.take({ agents }, never);
      seen.add(each.agent);
      settle();
    });
    for (const agent of agents) await queue.enqueue({ ...run('u:one', `of-${agent}`), agent });
    await Promise.all(taken);
    t.deepEqual([...seen].toSorted(), agents.toSorted());
  });

  test.serial('a replica opens that finds no stream while another one creates and changes it', async (t) => {
    await using server = await privateNats().open();
    await using place = await openPlace(server.url, 'together');
    const { manager } = place.streams;
    const info = manager.streams.info.bind(manager.streams);
    let other: RunQueue | undefined;
    manager.streams.info = async (name) => {
      try {
        return await info(name);
      } catch (error) {
        other ??= await openQueue(server.url, 'together');
        throw error;
      }
    };
    await using queue = await openNatsRunQueue({ streams: place.streams, log: silentLog, watchMs: 10_000 });
    await queue.enqueue(run('u:one', 'only'));
    t.is(other && (await takeOne(other)), 'only');
    await other?.[Symbol.asyncDispose]();
  });

  test.serial('the waiting runs of a hundred agents are counted in as many requests as those of one', async (t) => {
    await using server = await privateNats().open();
    await using place = await openPlace(server.url, 'counted');
    await using queue = await openQueue(server.url, 'counted');
    const counting = await openNatsRunQueue({ streams: place.streams, log: silentLog, watchMs: 10_000 });
    const agents = Array.from({ length: 100 }, (_, index) => `agent-${String(index)}`);
    const waitingIn = (): Record<string, number> =>
      Object.fromEntries(counting.backlogs().map(({ agent, waiting }) => [agent, waiting]));
    const pools = agents.map((agent) => ({ agent }));
    await counting.recount(pools);
    t.deepEqual(new Set(Object.values(waitingIn())), new Set([0]));
    for (const [index, agent] of agents.entries())
      for (let turn = 0; turn < index % 3; turn++)
        await queue.enqueue({ ...run('u:one', `${agent}-${String(turn)}`), agent });
    const before = place.client.connection.stats().outMsgs;
    await counting.recount(pools);
    t.true(place.client.connection.stats().outMsgs - before <= 3);
    t.like(waitingIn(), Object.fromEntries(agents.map((agent, index) => [agent, index % 3])));
    // More than the server is asked to list.
    for (let turn = 0; turn < 500; turn++)
      await queue.enqueue({ ...run('u:one', `many-${String(turn)}`), agent: 'agent-0' });
    await counting.recount(pools);
    t.like(waitingIn(), { 'agent-0': 500, 'agent-1': 1, 'agent-2': 2 });
    await counting[Symbol.asyncDispose]();
  });

  test.serial('a queue opens in an account that has few consumers, and takes runs', async (t) => {
    const account = 'A: { jetstream: { max_consumers: 100 }, users: [{ user: "api", password: "x" }] }';
    await using server = await openNatsCluster({ servers: 1, lines: `accounts { ${account} }` });
    await using queue = await openQueue(server.url.replace('nats://', 'nats://api:x@'), 'few');
    await queue.enqueue(run('u:one', 'only'));
    t.is(await takeOne(queue), 'only');
  });

  test.serial('a run that is put in again while it waits is not added, however many wait', async (t) => {
    await using server = await privateNats().open();
    await using queue = await openQueue(server.url, 'again');
    await using sweeper = await openQueue(server.url, 'again');
    for (let index = 0; index < 200; index++) await queue.enqueue(run('u:noisy', `n${index}`));
    // What a fresh replica knows of the backlog it has to ask first.
    await until(() => sweeper.waiting() === 200);
    for (let index = 0; index < 200; index++) await sweeper.enqueue(run('u:noisy', `n${index}`));
    await until(() => sweeper.waiting() === 200 && queue.waiting() === 200);
    const seen = new Set<string>();
    for (let index = 0; index < 200; index++) seen.add(await takeOne(queue));
    t.is(seen.size, 200);
    await t.throwsAsync(queue.take(unnamed, AbortSignal.timeout(300)), { name: 'TimeoutError' });
  });

  test.serial(
    'runs are shared out, each to one replica, and one that takes none keeps none from another',
    async (t) => {
      await using server = await privateNats().open();
      await using full = await openQueue(server.url, 'shared');
      await using free = await openQueue(server.url, 'shared');
      // It asks all lanes, and then has no place for what they give.
      await t.throwsAsync(full.take(unnamed, AbortSignal.timeout(50)), { name: 'TimeoutError' });
      const owners = Array.from({ length: 40 }, (_, index) => `u:${index}`);
      for (const owner of owners) await full.enqueue(run(owner, `of-${owner.slice(2)}`));
      const started = performance.now();
      const seen = new Set<string>();
      for (const _ of owners) seen.add(await takeOne(free));
      t.is(seen.size, owners.length);
      t.true(performance.now() - started < byLoad(2000));
    },
  );

  test.serial('a replica that has left is given nothing, also what it had asked for before', async (t) => {
    await using server = await privateNats().open();
    await using leaving = await openQueue(server.url, 'left');
    await using staying = await openQueue(server.url, 'left');
    await t.throwsAsync(leaving.take(unnamed, AbortSignal.timeout(50)), { name: 'TimeoutError' });
    await leaving.leave();
    const owners = Array.from({ length: 40 }, (_, index) => `u:${index}`);
    for (const owner of owners) await leaving.enqueue(run(owner, `of-${owner.slice(2)}`));
    await Promise.all(owners.map(async () => takeOne(staying)));
    await using place = await openPlace(server.url, 'left');
    const { manager, names } = place.streams;
    let given = 0;
    for (let lane = 0; lane < allLanes; lane++)
      given += (await manager.consumers.info(names.runs, consumerOf({ agent: 'default' }, lane))).delivered
        .consumer_seq;
    t.is(given, owners.length);
  });

  test.serial('a replica that freezes is given nothing any more once half a lease has passed', async (t) => {
    await using server = await privateNats().open();
    await using way = await openStallingProxy(Number(new URL(server.url).port));
    await using frozen = await openQueue(`nats://127.0.0.1:${String(way.port)}`, 'frozen');
    await using place = await openPlace(server.url, 'frozen');
    const { manager, names } = place.streams;
    const openQuestions = async (): Promise<number> => {
      let sum = 0;
      for (let lane = 0; lane < allLanes; lane++)
        // A worker creates its consumers when it begins to wait.
        sum += await manager.consumers.info(names.runs, consumerOf({ agent: 'default' }, lane)).then(
          ({ num_waiting: waiting }) => waiting,
          () => 0,
        );
      return sum;
    };
    const leaving = new AbortController();
    const taking = t.throwsAsync(frozen.take(unnamed, leaving.signal), { message: 'enough' });
    await until(async () => (await openQuestions()) === allLanes);
    way.stall();
    const started = performance.now();
    await until(async () => (await openQuestions()) === 0, { timeoutMs: 10_000 });
    t.log(`nothing is asked for ${Math.round(performance.now() - started)} ms after it froze`);
    await using other = await openQueue(server.url, 'frozen');
    await other.enqueue(run('u:ada', 'r1'));
    t.is(await takeOne(other), 'r1');
    way.resume();
    leaving.abort(new Error('enough'));
    await taking;
  });

  test.serial('what a replica took and did not settle is handed out to another', async (t) => {
    await using server = await privateNats().open();
    await using other = await openQueue(server.url, 'unsettled', { settleMs: 1000 });
    {
      await using dead = await openQueue(server.url, 'unsettled', { settleMs: 1000 });
      await dead.enqueue(run('u:ada', 'r1'));
      t.is((await dead.take(unnamed, never)).run.runId, 'r1');
    }
    const started = performance.now();
    t.is(await takeOne(other), 'r1');
    t.true(performance.now() - started < byLoad(5000));
  });

  test.serial(
    'a server that is killed and started again loses no waiting run, and whoever waits goes on waiting',
    async (t) => {
      await using server = await privateNats().open();
      await using queue = await openQueue(server.url, 'killed');
      await queue.enqueue(run('u:ada', 'before'));
      await server.kill();
      const enqueued = queue.enqueue(run('u:bob', 'meanwhile'));
      await pause(100);
      await server.restart();
      await enqueued;
      t.deepEqual(new Set([await takeOne(queue), await takeOne(queue)]), new Set(['before', 'meanwhile']));
      const waiting = takeOne(queue);
      await pause(50);
      await server.kill();
      await server.restart();
      await queue.enqueue(run('u:ada', 'after'));
      t.is(await waiting, 'after');
    },
  );

  test.serial('a queue that is deleted under way is made again, and holds what is put in again', async (t) => {
    await using server = await privateNats().open();
    await using place = await openPlace(server.url, 'deleted');
    await using queue = await openQueue(server.url, 'deleted');
    await queue.enqueue(run('u:ada', 'lost'));
    const { manager, names } = place.streams;
    await manager.streams.delete(names.runs);
    await queue.enqueue(run('u:ada', 'again'));
    t.is(await takeOne(queue), 'again');
    const waiting = takeOne(queue);
    await pause(50);
    await manager.streams.delete(names.runs);
    await queue.enqueue(run('u:bob', 'later'));
    t.is(await waiting, 'later');
    const waitingMore = takeOne(queue);
    await pause(50);
    for await (const { name } of manager.consumers.list(names.runs)) await manager.consumers.delete(names.runs, name);
    await queue.enqueue(run('u:cyd', 'last'));
    t.is(await waitingMore, 'last');
  });

  test.serial(
    'runs of an agent without workers wait without consumers, and the first worker creates them',
    async (t) => {
      await using server = await privateNats().open();
      await using place = await openPlace(server.url, 'absent');
      await using queue = await openQueue(server.url, 'absent');
      const { manager, names } = place.streams;
      const billing = { agents: ['billing'] };
      const consumers = async (): Promise<number> => (await manager.streams.info(names.runs)).state.consumer_count;
      await queue.enqueue({ ...run('u:ada', 'r1'), agent: 'billing' });
      t.is(await consumers(), 0);
      t.is((await queue.take(billing, never)).run.runId, 'r1');
      const { own: ownOfNamed, bulk: bulkOfNamed } = laneCountsOf({ agent: 'billing' });
      t.is(await consumers(), ownOfNamed + bulkOfNamed);
      // As the server does to those that nobody has asked for long. The run was not settled.
      for await (const { name } of manager.consumers.list(names.runs)) await manager.consumers.delete(names.runs, name);
      await queue.enqueue({ ...run('u:ada', 'r2'), agent: 'billing' });
      const { run: again, settle } = await queue.take(billing, never);
      settle();
      t.deepEqual([again.runId, (await queue.take(billing, never)).run.runId].toSorted(), ['r1', 'r2']);
    },
  );

  test.serial('a consumer that gives out nothing though runs wait is made anew', async (t) => {
    await using server = await privateNats().open();
    await using place = await openPlace(server.url, 'wedged');
    await using queue = await openQueue(server.url, 'wedged', {}, 300);
    const { manager, names } = place.streams;
    const waiting = takeOne(queue);
    for await (const { name } of manager.consumers.list(names.runs)) {
      const until = new Date(Date.now() + 3_600_000).toISOString();
      await place.client.request(
        `$JS.API.CONSUMER.PAUSE.${names.runs}.${name}`,
        Buffer.from(JSON.stringify({ pause_until: until })),
      );
    }
    await queue.enqueue(run('u:ada', 'r1'));
    t.is(await waiting, 'r1');
  });

  test.serial('the trace of a run goes along with it, and its owner may be called anything', async (t) => {
    await using server = await privateNats().open();
    await using queue = await openQueue(server.url, 'trace');
    const odd: RunnableRun = {
      ...run('u:ada\r\n.*> 🫖', 'r1'),
      trace: { traceparent: '00-1-2-01', 'x-request-id': 'é' },
    };
    await queue.enqueue(odd);
    t.deepEqual((await queue.take(unnamed, never)).run, odd);
  });

  test.serial('what is no run is thrown away, and what is no frame of events harms nobody', async (t) => {
    await using server = await privateNats().open();
    await using place = await openPlace(server.url, 'foreign');
    await using queue = await openQueue(server.url, 'foreign');
    await using log = await openNatsRunLog({ streams: place.streams, retentionMs: 3_600_000, log: silentLog });
    const { runSubject, eventSubject } = place.streams.names;
    const hash = hashOfPool({ agent: 'default' });
    const following = log.end('r1', never);
    for (const text of ['', '{', '{}', 'null']) {
      await place.client.request(`${runSubject}.${hash}.0.x.${text.length}.new`, Buffer.from(text));
      await place.client.request(`${eventSubject}.0.r2`, Buffer.from(text));
    }
    await log.append(scopeOf('r1'), 0, [eventOf(1, 'on_chain_end', {})]);
    t.is((await following).seq, 1);
    const taking = takeOne(queue);
    await queue.enqueue(run('u:ada', 'r1'));
    t.is(await taking, 'r1');
    const leaving = new AbortController();
    const takingMore = queue.take(unnamed, leaving.signal);
    await until(() => queue.waiting() === 0);
    leaving.abort(new Error('enough'));
    await t.throwsAsync(takingMore, { message: 'enough' });
  });

  test.serial('a replica that has nothing to do costs next to nothing', async (t) => {
    await using server = await privateNats().open();
    await using place = await openPlace(server.url, 'idle');
    await using queue = await openNatsRunQueue({ streams: place.streams, log: silentLog, watchMs: 10_000 });
    await using log = await openNatsRunLog({ streams: place.streams, retentionMs: 3_600_000, log: silentLog });
    const leaving = new AbortController();
    const taking = queue.take(unnamed, leaving.signal);
    const following = Array.from({ length: 200 }, async (_, index) => log.end(`r${index}`, leaving.signal));
    await pause(500);
    const before = place.client.connection.stats();
    const cpu = process.threadCpuUsage();
    const seconds = 5;
    await pause(seconds * 1000);
    const { user, system } = process.threadCpuUsage(cpu);
    const { inMsgs, outMsgs } = place.client.connection.stats();
    const perSecond = (inMsgs - before.inMsgs + outMsgs - before.outMsgs) / seconds;
    t.log(
      `${perSecond} messages/s, ${((user + system) / 10_000 / seconds).toFixed(2)} % of a core, with 1 taker and 200 followers`,
    );
    t.true(perSecond < 20);
    leaving.abort(new Error('enough'));
    for (const each of [taking, ...following]) await t.throwsAsync(each, { message: 'enough' });
  });
});

async function openQueue(
  url: string,
  name: string,
  settings: Parameters<typeof openPlace>[2] = {},
  watchMs = 10_000,
): Promise<RunQueue> {
  const place = await openPlace(url, name, settings);
  return joined(await openNatsRunQueue({ streams: place.streams, log: silentLog, watchMs }), place);
}

const run = (owner: string, runId: string): RunnableRun => ({ owner, threadId: `t-${runId}`, runId });

async function takeOne(queue: RunQueue): Promise<string> {
  const { run: taken, settle } = await queue.take(unnamed, never);
  settle();
  return taken.runId;
}

/** Another owner whose runs stand in the same lane. */
function ownerInLaneOf(owner: string): string {
  const laneOf = createLanes(() => true);
  const { lane } = laneOf(owner, { agent: 'default' });
  for (let index = 0; ; index++)
    if (laneOf(`u:other-${index}`, { agent: 'default' }).lane === lane) return `u:other-${index}`;
}
