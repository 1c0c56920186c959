import { EventEmitter, once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import test from 'ava';
import { hashOfAgent } from '@agent-workflow/execution/adapters/nats/client/pools';
import { openNatsRunLog } from '@agent-workflow/execution/adapters/nats/log/log';
import { eventSubjectOf } from '@agent-workflow/execution/adapters/nats/log/places';
import type { RunLog } from '@agent-workflow/execution/ports/log';
import { isServiceError } from '@agent-workflow/kit/errors';
import { createLog } from '@agent-workflow/kit/log';
import { never } from '@agent-workflow/protos/call';
import type { RunEvent } from '@agent-workflow/protos/execution';
import { privateNats } from '../servers/nats.ts';
import { joined, openLogsOn, openPlace } from '../servers/nats-adapters.ts';
import { openStallingProxy } from '../servers/stalling-proxy.ts';
import { withServer } from '../servers/real-suite.ts';
import { until } from '../until.ts';
import { eventOf, scopeOf } from '../events.ts';
import { byLoad } from '../by-load.ts';

const silentLog = createLog('test', 'silent');

withServer(test, privateNats(), () => {
  test.serial(
    'a server that is killed and started again loses and doubles no event, for writer, follower and latecomer',
    async (t) => {
      await using server = await privateNats().open();
      await using log = await openLogsOn(server.url, 'killed');
      await using elsewhere = await openLogsOn(server.url, 'killed');
      const runs = ['a', 'b', 'c'];
      const followers = [log, elsewhere].flatMap((each) => runs.map(async (run) => collect(each, run)));
      const writing = Promise.all(runs.map(async (run) => writeSlowly(log, run, 400)));
      for (let kill = 0; kill < 3; kill++) {
        await pause(300);
        await server.kill();
        await pause(kill * 200);
        await server.restart();
      }
      await writing;
      for (const seen of await Promise.all(followers)) t.deepEqual(seen, range(1, 401));
      for (const run of runs) t.deepEqual(await collect(elsewhere, run), range(1, 401));
    },
  );

  test.serial('a log that began after a moment is looked for when the connection was lost since', async (t) => {
    await using server = await privateNats().open();
    await using log = await openLogsOn(server.url, 'began');
    await using elsewhere = await openLogsOn(server.url, 'began');
    const moment = log.moment();
    await server.kill();
    await server.restart();
    await until(() => log.moment() > moment);
    await elsewhere.append(scopeOf('r'), 0, [end(1)]);
    log.setAgent('r', 'default');
    log.beganAfter('r', moment);
    t.is((await log.end('r', never)).seq, 1);
  });

  for (const [title, lose] of [
    [
      'deleted',
      async (_server, { streams: { manager, names } }) => {
        await manager.streams.delete(names.events);
      },
    ],
    [
      'lost with all that the server has',
      async (server) => {
        await server.kill();
        await server.wipe();
        await server.restart();
      },
    ],
  ] as const satisfies readonly (readonly [string, (server: Server, place: Place) => Promise<void>])[]) {
    test.serial(
      `a stream that is ${title} under way is made again, and runs under way have all their events in it`,
      async (t) => {
        await using server = await privateNats().open();
        await using place = await openPlace(server.url, 'lost');
        await using log = await openLogsOn(server.url, 'lost');
        await using elsewhere = await openLogsOn(server.url, 'lost');
        const following = [log, elsewhere].map(async (each) => collect(each, 'r'));
        await log.append(scopeOf('r'), 0, chunksOf(1, 40));
        await log.append(scopeOf('idle'), 0, chunksOf(1, 5));
        const writing = writeSlowly(log, 'r', 300, 40);
        await pause(150);
        await lose(server, place);
        await writing;
        for (const seen of await Promise.all(following)) t.deepEqual(seen, range(1, 301));
        t.deepEqual(await collect(elsewhere, 'r'), range(1, 301));
        // One that says nothing at the time is put back as well, for whoever comes to follow it.
        t.deepEqual(await collect(elsewhere, 'idle', 5), range(1, 5));
        await log.append(scopeOf('idle'), 5, [end(6)]);
        t.deepEqual(await collect(elsewhere, 'idle'), range(1, 6));
      },
    );
  }

  for (const [title, frames, isKept] of [
    ['is put back with what another writer said before', 4, true],
    ['that weighs more than is held here is let go, and can be told anew', 5, false],
  ] as const) {
    test.serial(`a lost log ${title}`, async (t) => {
      await using server = await privateNats().open();
      await using place = await openPlace(server.url, 'taken');
      await using dead = await openLogsOn(server.url, 'taken');
      await using log = await openLogsOn(server.url, 'taken');
      const text = 'x'.repeat(120 * 1024);
      for (const seq of range(1, frames)) await dead.append(scopeOf('r'), seq - 1, [chunkOf(seq, text)]);
      await log.append(scopeOf('r'), await log.last('r'), [chunkOf(frames + 1)]);
      await place.streams.manager.streams.delete(place.streams.names.events);
      const appending = log.append(scopeOf('r'), frames + 1, [end(frames + 2)]);
      await using later = await openLogsOn(server.url, 'taken');
      if (isKept) {
        await appending;
        t.deepEqual(await collect(later, 'r'), range(1, frames + 2));
        t.is(await messagesOf(place, 'r'), 1, 'a writer that dies meanwhile leaves all of it or nothing');
        return;
      }
      t.true(isServiceError(await t.throwsAsync(appending), 'Stale'));
      t.is(await log.last('r'), 0);
      await log.append(scopeOf('r'), 0, [chunkOf(1), end(2)]);
      t.deepEqual(await collect(later, 'r'), [1, 2]);
    });
  }

  test.serial(
    'the beginning of a run shares a message with what follows it at once, and waits for nothing else',
    async (t) => {
      await using server = await privateNats().open();
      await using place = await openPlace(server.url, 'beginning');
      await using log = await openLogsOn(server.url, 'beginning');
      const beginning = (run: string): Promise<void> =>
        log.append(scopeOf(run), 0, [eventOf(1, 'metadata', {}), eventOf(2, 'on_chain_start', {})], {
          isAwaited: false,
        });
      const begun = beginning('quick');
      await Promise.all([begun, log.append(scopeOf('quick'), 2, [chunkOf(3)], { isAwaited: false })]);
      t.is(await messagesOf(place, 'quick'), 1);
      await beginning('slow');
      t.is(await messagesOf(place, 'slow'), 1);
      await log.append(scopeOf('slow'), 2, [end(3)]);
      t.is(await messagesOf(place, 'slow'), 2);
      for (const run of ['quick', 'slow']) t.deepEqual(await collect(log, run, 3), [1, 2, 3]);
    },
  );

  test.serial('what an idle writer puts back of a lost log is one message, however many it wrote', async (t) => {
    await using server = await privateNats().open();
    await using place = await openPlace(server.url, 'idle');
    await using log = await openLogsOn(server.url, 'idle');
    for (const seq of range(1, 20)) await log.append(scopeOf('r'), seq - 1, [chunkOf(seq)]);
    t.is(await messagesOf(place, 'r'), 20);
    await place.streams.manager.streams.delete(place.streams.names.events);
    await using later = await openLogsOn(server.url, 'idle');
    t.deepEqual(await collect(later, 'r', 20), range(1, 20));
    t.is(await messagesOf(place, 'r'), 1);
    await log.append(scopeOf('r'), 20, [end(21)]);
    t.deepEqual(await collect(later, 'r'), range(1, 21));
  });

  test.serial(
    'of a run that a worker has left nothing is kept there: the log goes on, and a lost one begins anew',
    async (t) => {
      await using server = await privateNats().open();
      await using place = await openPlace(server.url, 'left');
      await using log = await openLogsOn(server.url, 'left');
      await log.append(scopeOf('r'), 0, chunksOf(1, 3));
      void log.append(scopeOf('r'), 3, [chunkOf(4)], { isAwaited: false });
      log.leave('r');
      await until(async () => (await log.last('r')) === 4);
      await log.append(scopeOf('r'), 4, [chunkOf(5)]);
      log.leave('r');
      await log.append(scopeOf('beside'), 0, [chunkOf(1)]);
      await place.streams.manager.streams.delete(place.streams.names.events);
      await until(async () => (await messagesOf(place, 'beside').catch(() => 0)) === 1);
      t.is(await messagesOf(place, 'r'), 0, 'that of a run which nobody left is put back, and this one is not');
      t.is(await log.last('r'), 0);
      await log.append(scopeOf('r'), 0, [chunkOf(1), end(2)]);
      t.deepEqual(await collect(log, 'r'), [1, 2]);
    },
  );

  test.serial(
    'a lost log that the writer before has put back, because it does not know yet that it was replaced, is whole again with the next event',
    async (t) => {
      await using server = await privateNats().open();
      await using place = await openPlace(server.url, 'prefix');
      await using before = await openLogsOn(server.url, 'prefix');
      await using log = await openLogsOn(server.url, 'prefix');
      await before.append(scopeOf('r'), 0, chunksOf(1, 3));
      t.is(await log.last('r'), 3);
      await log.append(scopeOf('r'), 3, chunksOf(4, 5));
      await place.streams.manager.streams.delete(place.streams.names.events);
      // It is the first to see that the stream is gone.
      await until(async () => (await before.last('unknown').catch(() => -1)) === 0);
      await until(async () => (await messagesOf(place, 'r')) === 1);
      await log.append(scopeOf('r'), 5, [end(6)]);
      t.deepEqual(await collect(log, 'r'), range(1, 6));
      await using later = await openLogsOn(server.url, 'prefix');
      t.deepEqual(await collect(later, 'r'), range(1, 6));
    },
  );

  test.serial(
    'a replica that was disconnected while the stream was made again finds what was put back before the old places',
    async (t) => {
      await using old = await privateNats().open();
      await using made = await privateNats().open();
      await using way = await openStallingProxy(portOf(old));
      await using before = await openLogsOn(old.url, 'moved');
      await using elsewhere = await openLogsOn(`nats://127.0.0.1:${way.port}`, 'moved');
      for (const run of range(1, 30)) await before.append(scopeOf(`other-${run}`), 0, [chunkOf(1)]);
      for (const seq of range(1, 4)) await before.append(scopeOf('r'), seq - 1, [chunkOf(seq)]);
      const following = listen(elsewhere, 'r');
      await following.reaches(4);
      await using log = await openLogsOn(made.url, 'moved');
      for (const seq of range(1, 4)) await log.append(scopeOf('r'), seq - 1, [chunkOf(seq)]);
      await log.append(scopeOf('r'), 4, [chunkOf(5), end(6)]);
      for (const run of range(1, 60)) await log.append(scopeOf(`other-${run}`), 0, [chunkOf(1)]);
      way.turnTo(portOf(made));
      await old.kill();
      t.deepEqual(await following.done, range(1, 6));
    },
  );

  test.serial('of two replicas the one that comes after the other is stale, whatever it knew before', async (t) => {
    await using server = await privateNats().open();
    await using before = await openLogsOn(server.url, 'stale');
    await using after = await openLogsOn(server.url, 'stale');
    await before.append(scopeOf('r'), 0, chunksOf(1, 3));
    t.is(await after.last('r'), 3);
    await after.append(scopeOf('r'), 3, chunksOf(4, 5));
    t.true(isServiceError(await t.throwsAsync(before.append(scopeOf('r'), 3, chunksOf(4, 4))), 'Stale'));
    t.true(isServiceError(await t.throwsAsync(before.append(scopeOf('r'), 4, chunksOf(5, 5))), 'Stale'));
    await after.append(scopeOf('r'), 5, [end(6)]);
    t.deepEqual(await collect(before, 'r'), range(1, 6));
    // Both at once: one is.
    const results = await Promise.allSettled([
      before.append(scopeOf('s'), 0, [end(1)]),
      after.append(scopeOf('s'), 0, [end(1)]),
    ]);
    t.is(results.filter(({ status }) => status === 'fulfilled').length, 1);
  });

  test.serial('what is written under the id of a run below another agent is not part of its log', async (t) => {
    await using server = await privateNats().open();
    await using log = await openLogsOn(server.url, 'foreign');
    await using foreign = await openLogsOn(server.url, 'foreign');
    await using latecomer = await openLogsOn(server.url, 'foreign');
    for (const each of [log, latecomer]) each.setAgent('r', 'support');
    const following = listen(log, 'r');
    await log.append(scopeOf('r'), 0, [chunkOf(1)]);
    await following.reaches(1);
    foreign.setAgent('r', 'billing');
    await foreign.append(scopeOf('r'), 0, [chunkOf(1), chunkOf(2), end(3)]);
    t.is(await latecomer.last('r'), 1);
    await log.append(scopeOf('r'), 1, [chunkOf(2), end(3)]);
    t.deepEqual(await following.done, [1, 2, 3]);
    t.deepEqual(await collect(latecomer, 'r'), [1, 2, 3]);
    t.deepEqual(await collect(foreign, 'r'), [1, 2, 3]);
  });

  test.serial(
    'an ended log that is older than its retention is as if it had never been, and can be told anew',
    async (t) => {
      await using server = await privateNats().open();
      await using place = await openPlace(server.url, 'old');
      await using log = joined(
        await openNatsRunLog({ streams: place.streams, retentionMs: 200, log: silentLog }),
        place,
      );
      await log.append(scopeOf('r'), 0, [...chunksOf(1, 3), end(4)]);
      t.deepEqual(await collect(log, 'r'), range(1, 4));
      await using later = await openPlace(server.url, 'old');
      await pause(250);
      await using latecomer = await openNatsRunLog({ streams: later.streams, retentionMs: 200, log: silentLog });
      t.is(await latecomer.last('r'), 0);
      t.false(await latecomer.isEnded('r'));
      const following = collect(latecomer, 'r');
      await latecomer.append(scopeOf('r'), 0, [...chunksOf(1, 1), end(2)]);
      t.deepEqual(await following, [1, 2]);
      t.deepEqual(await collect(latecomer, 'r'), [1, 2]);
    },
  );

  test.serial('while the server is unavailable reading is refused in time, and writing waits', async (t) => {
    await using server = await privateNats().open();
    await using log = await openLogsOn(server.url, 'away');
    await log.append(scopeOf('r'), 0, chunksOf(1, 2));
    await server.kill();
    await pause(50);
    const started = performance.now();
    t.true(isServiceError(await t.throwsAsync(log.last('unknown')), 'Unavailable'));
    t.true(isServiceError(await t.throwsAsync(log.isEnded('unknown')), 'Unavailable'));
    t.true(performance.now() - started < byLoad(6000));
    await t.throwsAsync(log.end('r', AbortSignal.timeout(100)), { name: 'TimeoutError' });
    const writing = log.append(scopeOf('r'), 2, [end(3)]);
    await server.restart();
    await writing;
    t.deepEqual(await collect(log, 'r'), [1, 2, 3]);
  });

  test.serial('a slow follower does not make memory grow, and has everything in the end', async (t) => {
    await using server = await privateNats().open();
    await using log = await openLogsOn(server.url, 'slow');
    const text = 'x'.repeat(4096);
    const slow = log.follow('r', 0, never)[Symbol.asyncIterator]();
    const first = slow.next();
    await log.append(scopeOf('r'), 0, [chunkOf(1, text)]);
    await first;
    const before = usedBytes();
    const total = 24_000;
    for (let seq = 2; seq < total; seq += 100)
      await log.append(
        scopeOf('r'),
        seq - 1,
        range(seq, Math.min(seq + 99, total - 1)).map((each) => chunkOf(each, text)),
      );
    await log.append(scopeOf('r'), total - 1, [end(total)]);
    // What is on its way through the sockets goes; what is held for the follower would not.
    const bound = 16 * 1024 * 1024;
    for (let tries = 0; usedBytes() - before > bound && tries < 50; tries++) await pause(100);
    const grown = usedBytes() - before;
    t.log(`${mebi(total * text.length)} MiB written, ${mebi(grown)} MiB held`);
    t.true(grown <= bound, String(grown));
    let at = 1;
    for (let item = await slow.next(); !item.done; item = await slow.next())
      for (const { seq } of item.value.events) {
        at += 1;
        if (seq !== at) t.fail(`${seq} stands where ${at} should`);
      }
    t.is(at, total);
  });

  test.serial('10,000 events a second in small pieces pass, each soon after it was said', async (t) => {
    await using server = await privateNats().open();
    await using log = await openLogsOn(server.url, 'quick');
    await using elsewhere = await openLogsOn(server.url, 'quick');
    const runs = range(1, 20).map((index) => `r${index}`);
    const printedAt = new Map<string, number[]>(runs.map((run) => [run, []]));
    const delays: number[] = [];
    const following = runs.map(async (run) => {
      const times = printedAt.get(run) ?? [];
      let count = 0;
      for await (const batch of elsewhere.follow(run, 0, never)) {
        const now = performance.now();
        for (const { seq } of batch.events) {
          t.is(seq, ++count);
          delays.push(now - (times[seq] ?? now));
        }
      }
      return count;
    });
    const perTick = 10;
    const ticks = 100;
    const tickMs = 20;
    const cpu = process.threadCpuUsage();
    const started = performance.now();
    for (let tick = 0; tick < ticks; tick++) {
      for (const run of runs) {
        for (let index = 1; index <= perTick; index++) {
          const seq = tick * perTick + index;
          (printedAt.get(run) ?? [])[seq] = performance.now();
          log.append(scopeOf(run), seq - 1, [chunkOf(seq)]).catch((error: unknown) => t.fail(String(error)));
        }
      }
      const due = started + (tick + 1) * tickMs;
      if (due > performance.now()) await pause(due - performance.now());
    }
    const last = perTick * ticks;
    await Promise.all(runs.map(async (run) => log.append(scopeOf(run), last, [end(last + 1)])));
    t.deepEqual(
      await Promise.all(following),
      runs.map(() => last + 1),
    );
    const seconds = (performance.now() - started) / 1000;
    const { user, system } = process.threadCpuUsage(cpu);
    delays.sort((one, other) => one - other);
    t.log(
      `${Math.round(delays.length / seconds)} events/s, told after ${quantile(delays, 0.5)} ms (median), ${quantile(delays, 0.99)} ms (99 %); ` +
        `CPU of writer and follower ${((user + system) / 1000 / delays.length).toFixed(4)} ms an event`,
    );
    t.true(delays.length / seconds > 2000);
  });
});

type Server = Awaited<ReturnType<ReturnType<typeof privateNats>['open']>>;
type Place = Awaited<ReturnType<typeof openPlace>>;

/** How many messages the stream holds of a run. */
async function messagesOf({ streams: { manager, names } }: Place, run: string): Promise<number> {
  const subject = eventSubjectOf(names, hashOfAgent('default'), run);
  const { state } = await manager.streams.info(names.events, { subjects_filter: subject });
  return state.subjects?.[subject] ?? 0;
}

/** Appends up to the end, some awaited and some not, as a worker does. */
async function writeSlowly(log: RunLog, run: string, total: number, from = 0): Promise<void> {
  const appends: Promise<void>[] = [];
  for (let seq = from + 1; seq <= total; seq++) {
    appends.push(log.append(scopeOf(run), seq - 1, [chunkOf(seq)]));
    if (seq % 3 === 0) await pause(2);
    if (seq % 50 === 0) await Promise.all(appends);
  }
  await Promise.all([...appends, log.append(scopeOf(run), total, [end(total + 1)])]);
}

interface Follower {
  /** Resolves when the event of this number was seen. */
  readonly reaches: (seq: number) => Promise<void>;
  /** The numbers of all events, once the stream is over. */
  readonly done: Promise<readonly number[]>;
}

function listen(log: RunLog, run: string): Follower {
  const seen: number[] = [];
  const changes = new EventEmitter();
  const gather = async (): Promise<readonly number[]> => {
    for await (const batch of log.follow(run, 0, never)) {
      seen.push(...batch.events.map(({ seq }) => seq));
      changes.emit('more');
    }
    return seen;
  };
  const reaches = async (seq: number): Promise<void> => {
    while (!seen.includes(seq)) await once(changes, 'more');
  };
  return { reaches, done: gather() };
}

const portOf = ({ url }: { readonly url: string }): number => Number(new URL(url).port);

/** The numbers of all events of a run, or of those up to `upTo`. */
async function collect(log: RunLog, run: string, upTo = Infinity): Promise<number[]> {
  const numbers: number[] = [];
  for await (const batch of log.follow(run, 0, never)) {
    numbers.push(...batch.events.map(({ seq }) => seq));
    if ((numbers.at(-1) ?? 0) >= upTo) break;
  }
  return numbers;
}

const chunkOf = (seq: number, text = `piece ${seq}`): RunEvent => eventOf(seq, 'messages_chunk', text);
const end = (seq: number): RunEvent => eventOf(seq, 'on_chain_end', {});
const chunksOf = (first: number, last: number): RunEvent[] => range(first, last).map((seq) => chunkOf(seq));
const range = (first: number, last: number): number[] =>
  Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first + index);

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const usedBytes = (): number => {
  collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
};
const mebi = (bytes: number): string => (bytes / 1024 / 1024).toFixed(1);
const quantile = (sorted: readonly number[], part: number): string =>
  (sorted[Math.floor(sorted.length * part)] ?? 0).toFixed(1);
