import test from 'ava';
import { openNatsClient } from '@agent-workflow/execution/adapters/nats/client/client';
import { hashOfAgent } from '@agent-workflow/execution/adapters/nats/client/pools';
import { namesOf } from '@agent-workflow/execution/adapters/nats/client/names';
import { inboxPrefixOf } from '@agent-workflow/execution/adapters/nats/pools/permissions';
import { toPayload } from '@agent-workflow/execution/adapters/nats/log/frame';
import { openNatsRunLog } from '@agent-workflow/execution/adapters/nats/log/log';
import { eventSubjectOf } from '@agent-workflow/execution/adapters/nats/log/places';
import { readPublished } from '@agent-workflow/execution/events/published';
import { isTerminal, type RunLog } from '@agent-workflow/execution/ports/log';
import { createLog, type Log } from '@agent-workflow/kit/log';
import { never } from '@agent-workflow/protos/call';
import { packEvents } from '@agent-workflow/protos/event-pack';
import type { RunEvent } from '@agent-workflow/protos/execution';
import { openLogsOn, openPlace } from '../servers/nats-adapters.ts';
import { openNatsAt, openNatsWithPools, poolsPrefix } from '../servers/nats-pools.ts';
import { privateNats } from '../servers/nats.ts';
import { withServer } from '../servers/real-suite.ts';
import { until } from '../until.ts';
import { eventOf, scopeOf } from '../events.ts';

type Place = Awaited<ReturnType<typeof openPlace>>;

const silentLog = createLog('test', 'silent');
const defaultHash = hashOfAgent('default');

/** What is no frame: nothing at all, no head, heads of others, and heads without the events that they name. */
const junk = [
  ...['', 'x', '{}\n{}', '1 2 3\n', 'a b c d e f g w\n', '9'.repeat(200_000)],
  ...['9 9 1 1 1 0 0 w parts\n{}', '9 9 1 1 1 0 0 w\nnull', '9 9 1 1 1 0 0 w parts\nx'],
  '9 9 1 1 0 0 0 w parts\n{"scope":{},"places":[],"events":[[0,1,2]]}\n{}',
];

withServer(test, privateNats(), () => {
  test.serial('followers of a run get what can be read, whatever else is put among its events', async (t) => {
    await using server = await privateNats().open();
    await using place = await openPlace(server.url, 'among');
    const { lines, log } = keptLines();
    await using writer = await openLogsOn(server.url, 'among');
    await using elsewhere = await openNatsRunLog({ streams: place.streams, retentionMs: 3_600_000, log });
    const following = [writer, elsewhere].map(async (each) => collect(each, 'r'));
    const ending = elsewhere.end('r', never);
    await put(place, 'r');
    await writer.append(scopeOf('r'), 0, [chunkOf(1)]);
    await put(place, 'r');
    const large = 'x'.repeat(1_200_000);
    await Promise.all([writer.append(scopeOf('r'), 1, [chunkOf(2, large)]), put(place, 'r')]);
    await put(place, 'r');
    await writer.append(scopeOf('r'), 2, [chunkOf(3), end(4)]);
    await put(place, 'r');
    for (const seen of await Promise.all(following)) t.deepEqual(seen, [1, 2, 3, 4]);
    t.is((await ending).seq, 4);
    await using latecomer = await openLogsOn(server.url, 'among');
    t.true(await latecomer.isEnded('r'));
    t.is(await latecomer.last('r'), 4);
    t.is((await latecomer.end('r', never)).seq, 4);
    t.deepEqual(await collect(latecomer, 'r'), [1, 2, 3, 4]);
    t.deepEqual(await collect(latecomer, 'r', 2), [3, 4]);
    t.deepEqual(lines, [{ runId: 'r', agentHash: defaultHash }]);
  });

  for (const [title, texts] of [
    ['of some bytes', ['junk']],
    ['without content', ['']],
  ] as const)
    test.serial(`3,000 messages ${title} after the events of an ended run cost one line in the log`, async (t) => {
      await using server = await privateNats().open();
      await using place = await openPlace(server.url, 'many');
      const { lines, log } = keptLines();
      const options = { streams: place.streams, retentionMs: 3_600_000, log };
      await using writer = await openNatsRunLog(options);
      await writer.append(scopeOf('r'), 0, [chunkOf(1), end(2)]);
      await put(place, 'r', { texts, times: 3000 });
      t.true(await writer.isEnded('r'));
      await using later = await openPlace(server.url, 'many');
      await using latecomer = await openNatsRunLog({ ...options, streams: later.streams });
      const started = performance.now();
      t.true(await latecomer.isEnded('r'));
      t.is((await latecomer.end('r', never)).seq, 2);
      t.deepEqual(await collect(latecomer, 'r'), [1, 2]);
      t.log(`${(performance.now() - started).toFixed(0)} ms`);
      t.deepEqual(lines, Array(2).fill({ runId: 'r', agentHash: defaultHash }), 'one of each replica');
      t.deepEqual(await collect(writer, 'r'), [1, 2]);
    });

  for (const [title, texts, times] of [
    ['20,000 messages', ['junk'], 20_000],
    ['350 messages of 200 KB', ['9'.repeat(200_000)], 350],
  ] as const)
    test.serial(`a log after ${title} that cannot be read counts as lost, and is put back after them`, async (t) => {
      await using server = await privateNats().open();
      await using place = await openPlace(server.url, 'behind');
      await using writer = await openLogsOn(server.url, 'behind');
      await writer.append(scopeOf('r'), 0, [chunkOf(1)]);
      await put(place, 'r', { texts, times });
      await using latecomer = await openLogsOn(server.url, 'behind');
      t.is(await latecomer.last('r'), 0);
      await writer.append(scopeOf('r'), 1, [chunkOf(2), end(3)]);
      await until(async () => latecomer.isEnded('r'));
      for (const log of [writer, latecomer]) t.deepEqual(await collect(log, 'r'), [1, 2, 3]);
    });

  for (const [title, texts, times] of [
    ['20,000 messages', ['junk'], 20_000],
    ['20,000 messages that begin as events do', ['9 9 1 1 0 0 0 w parts\nx'], 20_000],
    ['350 messages of 200 KB', ['9'.repeat(200_000)], 350],
  ] as const)
    test.serial(`a reader is given the end of a log among whose events are ${title} that cannot be read`, async (t) => {
      await using server = await privateNats().open();
      await using place = await openPlace(server.url, 'between');
      await place.streams.ensureEvents();
      // A writer of ours puts its log back after so many messages: another one need not.
      for (const each of [[chunkOf(1), chunkOf(2)], undefined, [chunkOf(3)], [end(4)]])
        await put(place, 'r', each ? { texts: [frameOf(each)] } : { texts, times });
      const { lines, log } = keptLines();
      await using later = await openPlace(server.url, 'between');
      const read = counted(later);
      const streams = { ...later.streams, client: read.client };
      await using latecomer = await openNatsRunLog({ streams, retentionMs: 3_600_000, log });
      t.deepEqual(await collect(latecomer, 'r'), [1, 2, 4]);
      t.true(read.messages() < 17_000, String(read.messages()));
      t.is((await latecomer.end('r', never)).seq, 4);
      t.deepEqual(lines, Array(2).fill({ runId: 'r', agentHash: defaultHash }));
      t.true((await readPublished(latecomer, 'r', 4)).has('on_chain_end'));
    });

  test.serial('a log whose last message cannot be read is continued and ended by another replica', async (t) => {
    await using server = await privateNats().open();
    await using place = await openPlace(server.url, 'end');
    await using dead = await openLogsOn(server.url, 'end');
    await using elsewhere = await openLogsOn(server.url, 'end');
    await put(place, 'only');
    await dead.append(scopeOf('r'), 0, [chunkOf(1), chunkOf(2)]);
    const following = collect(elsewhere, 'r');
    await put(place, 'r');
    await using log = await openLogsOn(server.url, 'end');
    t.false(await log.isEnded('r'));
    t.is(await log.last('r'), 2);
    await log.append(scopeOf('r'), 2, [end(3)]);
    t.deepEqual(await following, [1, 2, 3]);
    t.is(await log.last('only'), 0);
    await log.append(scopeOf('only'), 0, [end(1)]);
    t.deepEqual(await collect(elsewhere, 'only'), [1]);
    await t.throwsAsync(dead.append(scopeOf('r'), 2, [end(3)]), { message: /continued by another worker/ });
    t.is(await dead.last('r'), 3);
  });

  test.serial('what is put below another agent under the id of a run does not hide the log of the run', async (t) => {
    await using server = await privateNats().open();
    await using place = await openPlace(server.url, 'below');
    await using log = await openLogsOn(server.url, 'below');
    const agent = hashOfAgent('billing');
    await put(place, 'r', { agent });
    await log.append(scopeOf('r'), 0, [chunkOf(1)]);
    await put(place, 'r', { agent });
    for (const name of [undefined, 'default']) {
      await using latecomer = await openLogsOn(server.url, 'below');
      if (name !== undefined) latecomer.setAgent('r', name);
      const last = await latecomer.last('r');
      await latecomer.append(scopeOf('r'), last, [chunkOf(last + 1)]);
      t.deepEqual(await collect(latecomer, 'r', 0, last + 1), name === undefined ? [1, 2] : [1, 2, 3]);
    }
  });

  test.serial('a lost log is put back after what was put into the new stream', async (t) => {
    await using server = await privateNats().open();
    await using place = await openPlace(server.url, 'lost');
    await using log = await openLogsOn(server.url, 'lost');
    await log.append(scopeOf('r'), 0, [chunkOf(1), chunkOf(2)]);
    await place.streams.manager.streams.delete(place.streams.names.events);
    await place.streams.ensureEvents();
    await put(place, 'r');
    await log.append(scopeOf('r'), 2, [end(3)]);
    await using latecomer = await openLogsOn(server.url, 'lost');
    t.deepEqual(await collect(latecomer, 'r'), [1, 2, 3]);
  });

  test.serial(
    'a writer is not kept for long by something that always writes first, and its log continues after it',
    async (t) => {
      await using server = await privateNats().open();
      await using place = await openPlace(server.url, 'first');
      const { lines, log } = keptLines();
      let isCrowded = false;
      const client = seen(place, async (subject) => {
        if (isCrowded) await place.client.request(subject, Buffer.from('junk'));
      });
      await using writer = await openNatsRunLog({ streams: { ...place.streams, client }, retentionMs: 3_600_000, log });
      await using elsewhere = await openLogsOn(server.url, 'first');
      const following = collect(elsewhere, 'r');
      await writer.append(scopeOf('r'), 0, [chunkOf(1)]);
      isCrowded = true;
      const refused = writer.append(scopeOf('r'), 1, [chunkOf(2)]);
      await t.throwsAsync(refused, {
        message: 'the event log cannot be written: other messages come first all the time',
      });
      await t.throwsAsync(writer.append(scopeOf('r'), 2, [chunkOf(3)]), { message: /events were dropped/ });
      isCrowded = false;
      t.is(await writer.last('r'), 1);
      await writer.append(scopeOf('r'), 1, [end(2)]);
      t.deepEqual(await following, [1, 2]);
      // Of the messages that cannot be read, and of the events that were dropped.
      t.deepEqual(lines, Array(2).fill({ runId: 'r', agentHash: defaultHash }));
    },
  );

  for (const [title, head] of [
    ['the first slice of an event', '100 100 1 2 0 0 0 w parts'],
    ['the last slice of an event', '100 100 2 2 0 1 0 w parts'],
    ['the last slice of the last event', '100 100 2 2 1 1 0 w parts'],
    ['the first slice of an event that is there', '2 2 1 2 0 0 0 w parts'],
  ] as const)
    test.serial(
      `a worker that continues a log does not wait for the rest of ${title}, which never comes`,
      async (t) => {
        await using server = await privateNats().open();
        await using place = await openPlace(server.url, 'slice');
        await using dead = await openLogsOn(server.url, 'slice');
        await dead.append(scopeOf('r'), 0, [chunkOf(1), chunkOf(2), chunkOf(3)]);
        await put(place, 'r', { texts: [`${head}\nx`] });
        await using log = await openLogsOn(server.url, 'slice');
        const published = await readPublished(log, 'r', await log.last('r'));
        t.true(published.has('messages_chunk'));
      },
    );

  test.serial('an event whose slices come late is neither waited for nor lost', async (t) => {
    await using server = await privateNats().open();
    await using place = await openPlace(server.url, 'late');
    const gate = Promise.withResolvers<undefined>();
    let written = 0;
    const client = seen(place, async () => {
      written++;
      if (written === 3) await gate.promise;
    });
    await using writer = await openNatsRunLog({
      ...{ streams: { ...place.streams, client }, retentionMs: 3_600_000, log: silentLog },
    });
    await using elsewhere = await openLogsOn(server.url, 'late');
    const following = collect(elsewhere, 'r');
    await writer.append(scopeOf('r'), 0, [chunkOf(1)]);
    const writing = writer.append(scopeOf('r'), 1, [chunkOf(2, 'x'.repeat(1_200_000))]);
    await until(() => written === 3);
    await using latecomer = await openLogsOn(server.url, 'late');
    t.is(await latecomer.last('r'), 1);
    t.true((await readPublished(latecomer, 'r', 1)).has('messages_chunk'));
    gate.resolve(undefined);
    await writing;
    await writer.append(scopeOf('r'), 2, [end(3)]);
    t.deepEqual(await following, [1, 2, 3]);
  });

  test.serial('an event whose data is no JSON counts as published without it', async (t) => {
    await using server = await privateNats().open();
    await using log = await openLogsOn(server.url, 'data');
    const noJson = { data: Buffer.from('no JSON') };
    await log.append(scopeOf('r'), 0, [
      ...[eventOf(1, 'on_chain_stream', {}, { ...noJson, step: 1 }), eventOf(2, 'on_chain_stream', null)],
      eventOf(3, 'messages_chunk', '', { ...noJson, messageId: 'm' }),
    ]);
    const published = await readPublished(log, 'r', 3);
    t.true(published.has('on_chain_stream'));
    t.is(published.step(undefined).message('m').characters, 0);
  });

  test.serial('a worker of a pool reads and continues such a log through a process that answers it', async (t) => {
    await using server = await openNatsWithPools(['support']);
    await using api = await openNatsAt(server.urlOf('api'));
    await using worker = await openNatsAt(server.urlOf('support'), { agents: ['support'] });
    await using client = await openNatsClient({
      ...{ url: server.urlOf('support'), name: 'junk', log: silentLog },
      inboxPrefix: inboxPrefixOf(['support']),
    });
    const agent = hashOfAgent('support');
    const putJunk = async (run: string): Promise<void> => {
      for (const text of junk)
        await client.request(eventSubjectOf(namesOf(poolsPrefix), agent, run), Buffer.from(text));
    };
    for (const { eventLog } of [api, worker]) for (const run of ['r', 'only']) eventLog.setAgent(run, 'support');
    await putJunk('only');
    await worker.eventLog.append(scopeOf('only'), 0, [end(1)]);
    await worker.eventLog.append(scopeOf('r'), 0, [chunkOf(1)]);
    const following = collect(api.eventLog, 'r');
    await putJunk('r');
    await using next = await openNatsAt(server.urlOf('support'), { agents: ['support'] });
    next.eventLog.setAgent('r', 'support');
    t.is(await next.eventLog.last('r'), 1);
    await next.eventLog.append(scopeOf('r'), 1, [chunkOf(2), end(3)]);
    await putJunk('r');
    t.deepEqual(await following, [1, 2, 3]);
    for (const { eventLog } of [api, next]) {
      await until(async () => eventLog.isEnded('r'));
      t.deepEqual(await collect(eventLog, 'r'), [1, 2, 3]);
    }
    t.deepEqual(await collect(api.eventLog, 'only'), [1]);
  });
});

/** What a writer stores of events. */
function frameOf(events: readonly RunEvent[]): string {
  const [first, last] = [events.at(0)?.seq ?? 0, events.at(-1)?.seq ?? 0];
  const body = packEvents({ scope: scopeOf('r'), events });
  const whole = { slice: 1, slices: 1, firstSliceSeq: 0, origin: 0, writer: 'w' } as const;
  const frame = { ...whole, first, last, ended: events.some(isTerminal), body };
  return Buffer.from(toPayload(frame)).toString();
}

interface Junk {
  readonly texts?: readonly string[];
  readonly times?: number;
  /** The hash of the agent below whose subject it is put. */
  readonly agent?: string;
}

/** Puts what cannot be read among the events of a run. */
async function put(
  place: Place,
  run: string,
  { texts = junk, times = 1, agent = defaultHash }: Junk = {},
): Promise<void> {
  const subject = eventSubjectOf(place.streams.names, agent, run);
  const all = Array.from({ length: times }, () => texts).flat();
  await Promise.all(all.map(async (text) => place.client.request(subject, Buffer.from(text))));
}

/** The connection of a place, with something to be done before each frame is sent. */
const seen = ({ client }: Place, beforeFrame: (subject: string) => Promise<void>): Place['client'] => ({
  ...client,
  request: async (subject, payload, options) => {
    if (options?.headers) await beforeFrame(subject);
    return client.request(subject, payload, options);
  },
});

/** The connection of a place, and how many messages of the stream it has read in pages. */
function counted({ client }: Place): { readonly client: Place['client']; readonly messages: () => number } {
  let messages = 0;
  return {
    client: {
      ...client,
      requestMany: async (subject, payload, isLast) => {
        const replies = await client.requestMany(subject, payload, isLast);
        messages += replies.length;
        return replies;
      },
    },
    messages: () => messages,
  };
}

/** A log that keeps the fields of its warnings and errors. */
function keptLines(): { readonly lines: readonly unknown[]; readonly log: Log } {
  const lines: unknown[] = [];
  const keep = (fields: unknown): void => void lines.push(fields);
  return { lines, log: Object.assign(Object.create(silentLog) as Log, { warn: keep, error: keep }) };
}

/** The numbers of a run's events above `after`, up to `upTo` or the last one. */
async function collect(log: RunLog, run: string, after = 0, upTo = Infinity): Promise<number[]> {
  const numbers: number[] = [];
  for await (const { events } of log.follow(run, after, never)) {
    numbers.push(...events.map(({ seq }) => seq));
    if ((numbers.at(-1) ?? 0) >= upTo) break;
  }
  return numbers;
}

const chunkOf = (seq: number, text = `piece ${seq}`): RunEvent => eventOf(seq, 'messages_chunk', text);
const end = (seq: number): RunEvent => eventOf(seq, 'on_chain_end', {});
