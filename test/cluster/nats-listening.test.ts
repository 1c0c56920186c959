import { setTimeout as wait } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { hashOfAgent } from '@agent-workflow/execution/adapters/nats/client/pools';
import { openNatsRunLog } from '@agent-workflow/execution/adapters/nats/log/log';
import { createReader, type Reader } from '@agent-workflow/execution/adapters/nats/log/reader';
import type { RunLog } from '@agent-workflow/execution/ports/log';
import { defaultAgent } from '@agent-workflow/kit/agents';
import { createLog } from '@agent-workflow/kit/log';
import { never } from '@agent-workflow/protos/call';
import type { RunEvent } from '@agent-workflow/protos/execution';
import { eventOf, scopeOf } from '../events.ts';
import { privateNats } from '../servers/nats.ts';
import { openLogsOn, openPlace } from '../servers/nats-adapters.ts';
import { withServer } from '../servers/real-suite.ts';
import { until } from '../until.ts';

const retentionMs = 3_600_000;
/** Well below the two seconds after which a quiet log is looked at. */
const soonMs = 1000;

withServer(test, privateNats(), () => {
  test.serial('a replica is sent the events of runs that it has readers of, and of no others', async (t) => {
    await using server = await privateNats().open();
    await using writer = await openLogsOn(server.url, 'readers');
    await using place = await openPlace(server.url, 'readers');
    await using reader = await openNatsRunLog({ ...place, retentionMs, log: createLog('test', 'silent') });
    const following = read(reader, 'read');
    await writer.append(scopeOf('read'), 0, [chunkOf(1)]);
    await following.first;
    const received = (): number => place.client.connection.stats().inMsgs;
    const before = received();
    const others = 200;
    for (let seq = 1; seq <= others; seq++) await writer.append(scopeOf('other'), seq - 1, [chunkOf(seq)]);
    await writer.append(scopeOf('read'), 1, [eventOf(2, 'on_chain_end', {})]);
    t.deepEqual(await following.all, [1, 2]);
    t.true(received() - before < others / 10, `${String(received() - before)} messages`);
  });

  test.serial('a reader at the replica that wrote a run first gets what another one writes after it', async (t) => {
    await using server = await privateNats().open();
    await using first = await openLogsOn(server.url, 'replaced');
    await using second = await openLogsOn(server.url, 'replaced');
    const following = await readFirst(t, first, second);
    await second.append(scopeOf('r'), 1, [chunkOf(2)]);
    await second.append(scopeOf('r'), 2, [eventOf(3, 'on_chain_end', {})]);
    t.deepEqual(await following.all, [1, 2, 3]);
  });

  test.serial('an end that somebody else finds is given to readers who wait for it already', async (t) => {
    await using server = await privateNats().open();
    await using first = await openLogsOn(server.url, 'found');
    await using second = await openLogsOn(server.url, 'found');
    const following = await readFirst(t, first, second);
    await second.append(scopeOf('r'), 1, [eventOf(2, 'on_chain_end', {})]);
    await until(async () => first.isEnded('r'));
    t.deepEqual(await following.all, [1, 2]);
  });

  test.serial('a replica that read how another one ended a run does not go on listening to it', async (t) => {
    await using server = await privateNats().open();
    await using place = await openPlace(server.url, 'ended');
    await using first = await openNatsRunLog({ ...place, retentionMs, log: createLog('test', 'silent') });
    await using second = await openLogsOn(server.url, 'ended');
    const following = await readFirst(t, first, second);
    await second.append(scopeOf('r'), 1, [eventOf(2, 'on_chain_end', {})]);
    await until(async () => first.isEnded('r'));
    await following.all;
    const { client, streams } = place;
    const before = client.connection.stats().inMsgs;
    client.connection.publish(`${streams.names.liveSubject}.${hashOfAgent(defaultAgent)}.r`);
    await client.flush(5000);
    t.is(client.connection.stats().inMsgs, before);
  });

  test.serial(
    'a worker of a pool does not keep what it has written of a run that is quiet for long, and goes on with it',
    async (t) => {
      await using server = await privateNats().open();
      await using _ground = await openLogsOn(server.url, 'quiet');
      await using place = await openPlace(server.url, 'quiet');
      const { client, streams } = place;
      const reader = createReader(client, streams.names, () => undefined);
      let asked = 0;
      const last: Reader['last'] = async (subject) => {
        asked++;
        return reader.last(subject);
      };
      const quietMs = 200;
      const ofPool = { agents: [defaultAgent], reader: { ...reader, last }, quietMs };
      await using log = await openNatsRunLog({ streams, retentionMs, log: createLog('test', 'silent'), ofPool });
      await log.append(scopeOf('r'), 0, [chunkOf(1)]);
      await log.append(scopeOf('r'), 1, [chunkOf(2)]);
      t.is(asked, 0);
      await wait(quietMs * 2);
      await log.append(scopeOf('r'), 2, [eventOf(3, 'on_chain_end', {})]);
      t.is(asked, 1);
      t.deepEqual(await read(log, 'r').all, [1, 2, 3]);
    },
  );

  test.serial('that the stream was created again is noticed once or twice, not by each subscription', async (t) => {
    await using server = await privateNats().open();
    await using place = await openPlace(server.url, 'again');
    await using writer = await openNatsRunLog({ ...place, retentionMs, log: createLog('test', 'silent') });
    await using reader = await openLogsOn(server.url, 'again');
    const runs = Array.from({ length: 30 }, (_, index) => `r${String(index)}`);
    const followings = runs.map((run) => read(reader, run));
    for (const run of runs) await writer.append(scopeOf(run), 0, [chunkOf(1)]);
    for (const { first } of followings) await first;
    const before = reader.moment();
    await place.streams.manager.streams.delete(place.streams.names.events);
    for (const run of runs) await writer.append(scopeOf(run), 1, [eventOf(2, 'on_chain_end', {})]);
    for (const { all } of followings) t.deepEqual(await all, [1, 2]);
    t.true(reader.moment() - before <= 2, `${String(reader.moment() - before)} times`);
  });

  test.serial(
    'a reader at the replica where a run fell asleep or was stopped gets at once what another one writes after it',
    async (t) => {
      await using server = await privateNats().open();
      await using first = await openLogsOn(server.url, 'asleep');
      await using second = await openLogsOn(server.url, 'asleep');
      await first.append(scopeOf('r'), 0, [chunkOf(1)]);
      const following = read(first, 'r');
      await following.first;
      await first.append(scopeOf('r'), 1, [chunkOf(2)]);
      first.leave('r');
      t.is(await second.last('r'), 2);
      await second.append(scopeOf('r'), 2, [chunkOf(3)]);
      await second.append(scopeOf('r'), 3, [eventOf(4, 'on_chain_end', {})]);
      const begun = performance.now();
      t.deepEqual(await following.all, [1, 2, 3, 4]);
      t.true(performance.now() - begun < soonMs);
    },
  );

  test.serial('whoever waits for the end of a run gets it, wherever the run goes on meanwhile', async (t) => {
    await using server = await privateNats().open();
    await using first = await openLogsOn(server.url, 'waited');
    await using second = await openLogsOn(server.url, 'waited');
    await using third = await openLogsOn(server.url, 'waited');
    const ends = [first, second, third].map(async (log) => log.end('r', never));
    await first.append(scopeOf('r'), 0, [chunkOf(1)]);
    await until(async () => (await second.last('r')) === 1);
    await second.append(scopeOf('r'), 1, [chunkOf(2)]);
    await until(async () => (await third.last('r')) === 2);
    await third.append(scopeOf('r'), 2, [eventOf(3, 'on_chain_end', {})]);
    for (const end of await Promise.all(ends)) t.is(end.seq, 3);
  });
});

const chunkOf = (seq: number): RunEvent => eventOf(seq, 'messages_chunk', `piece ${String(seq)}`);

interface Reading {
  /** Resolves with the first events. */
  readonly first: Promise<void>;
  /** The numbers of all events, once the log is over. */
  readonly all: Promise<readonly number[]>;
}

function read(log: RunLog, runId: string): Reading {
  const first = Promise.withResolvers<undefined>();
  const gather = async (): Promise<readonly number[]> => {
    const seen: number[] = [];
    for await (const batch of log.follow(runId, 0, never)) {
      seen.push(...batch.events.map(({ seq }) => seq));
      first.resolve(undefined);
    }
    return seen;
  };
  return { first: first.promise, all: gather() };
}

/** A run whose first event one replica has written and reads, and that another one is about to go on with. */
async function readFirst(t: ExecutionContext, first: RunLog, second: RunLog): Promise<Reading> {
  await first.append(scopeOf('r'), 0, [chunkOf(1)]);
  const following = read(first, 'r');
  await following.first;
  t.is(await second.last('r'), 1);
  return following;
}
