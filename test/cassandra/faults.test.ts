import { setTimeout as delay } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import type { Threads } from '@agent-workflow/protos/threads';
import { link } from '@agent-workflow/protos/wire/link';
import type { ThreadStore } from '@agent-workflow/threads/ports/store';
import { createThreads } from '@agent-workflow/threads/threads';
import { generator } from '../kill/random.ts';
import { openKeyspace, type Keyspace } from '../servers/cassandra-keyspace.ts';
import { cassandra, privateCassandra } from '../servers/cassandra.ts';
import { openCqlProxy, type CqlProxy, type Fate } from '../servers/cql-proxy.ts';
import { withServerForLong } from '../servers/real-suite.ts';
import { faultsOf, newTally, playHistory, type History, type Tally } from './histories.ts';
import { byLoad } from '../by-load.ts';

/** More versions than any history makes: each of its steps is to be found. */
const keep = 100_000;
const threadsOn = (store: ThreadStore): Threads => link(createThreads({ store, keep }));

withServerForLong(test, privateCassandra(), (launched) => {
  test('a server that is killed under load and comes back has lost nothing it acknowledged, and callers need no restart', async (t) => {
    t.timeout(byLoad(240_000));
    const server = await launched();
    await using keyspace = await openKeyspace(server);
    const limits = { requestTimeoutMs: 1000, deadlineMs: 3000 };
    await using store = await keyspace.open(limits);
    const threads = threadsOn(store);
    const tally = newTally();
    let isOver = false;
    const random = generator(6);
    const playing = Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        playHistory({
          key: { owner: 'u:kill', threadId: `t${index}` },
          ...{ worker: threads, caller: threads, random, tally },
          goesOn: () => !isOver,
        }),
      ),
    );
    for (let kill = 0; kill < 2; kill += 1) {
      await more(tally, 'acknowledged', 150);
      await server.kill();
      await more(tally, 'failed', 30);
      await server.restart();
      await more(tally, 'acknowledged', 150);
    }
    isOver = true;
    await allHold(t, threads, await playing);
    report(t, tally);
    t.true(tally.failed >= 60);
    // A call reads before it writes, and the last try of the write begins within the deadline.
    t.true(tally.slowestFailureMs < limits.deadlineMs + 3 * limits.requestTimeoutMs, `${tally.slowestFailureMs} ms`);
  });
});

const historyCount = 25;
const runsEach = 20;
const seed = 20_6;

withServerForLong(test, cassandra, (server) => {
  test(`${historyCount * runsEach} seeded runs hold while replies come late, get lost, and connections break`, async (t) => {
    t.timeout(byLoad(300_000));
    await using keyspace = await openKeyspace(await server());
    const injected = { drop: 0, cut: 0, delay: 0, dark: 0, lostWrites: 0 };
    const tally = newTally();
    const histories = await underFaults(keyspace, injected, tally);
    await using direct = await keyspace.open();
    await allHold(t, threadsOn(direct), histories);
    t.log(`seed ${seed}; faults injected: ${JSON.stringify(injected)}`);
    report(t, tally);
    t.true(injected.lostWrites > 20 && tally.resolved > 20, 'too few outcomes were unknown to say anything');
  });
});

/** All histories at once, through stores that each reach the server by a proxy of their own. */
async function underFaults(keyspace: Keyspace, injected: Injected, tally: Tally): Promise<readonly History[]> {
  await using stack = new AsyncDisposableStack();
  const random = generator(seed);
  const proxies: CqlProxy[] = [];
  const reached = await Promise.all(
    [0, 1, 2, 3].map(async () => {
      const proxy = stack.use(await openCqlProxy(keyspace.options.contactPoints[0] ?? ''));
      const options = { contactPoints: [proxy.contactPoint], requestTimeoutMs: 500, deadlineMs: 1500 };
      proxies.push(proxy);
      return threadsOn(stack.use(await keyspace.open(options)));
    }),
  );
  for (const proxy of proxies) proxy.judge = seededJudge(random, injected);
  const at = (index: number): Threads => reached[index % reached.length] as Threads;
  const histories = await Promise.all(
    Array.from({ length: historyCount }, (_, index) =>
      playHistory({
        key: { owner: `u:${index % 5}`, threadId: `t${index}` },
        ...{ worker: at(index), caller: at(index + 1), random: generator(seed + index), tally },
        goesOn: (runs) => runs < runsEach,
      }),
    ),
  );
  for (const proxy of proxies) proxy.judge = () => 'pass';
  return histories;
}

interface Injected {
  drop: number;
  cut: number;
  delay: number;
  /** Times in which no reply came at all: longer than a change is pursued. */
  dark: number;
  /** Replies of batches that never came. */
  lostWrites: number;
}

const darkMs = 1800;
const maxDelayMs = 700;

function seededJudge(random: () => number, injected: Injected): CqlProxy['judge'] {
  let darkUntil = 0;
  return ({ isConditional, isStatement }): Fate => {
    if (!isStatement) return 'pass';
    const chance = random();
    if (isConditional && chance < 0.006 && Date.now() > darkUntil) {
      darkUntil = Date.now() + darkMs;
      injected.dark += 1;
    }
    const fate = Date.now() < darkUntil || chance < 0.02 ? 'drop' : chance < 0.023 ? 'cut' : 'pass';
    if (fate !== 'pass') {
      injected[fate] += 1;
      if (isConditional) injected.lostWrites += 1;
      return fate;
    }
    if (chance > 0.06) return 'pass';
    injected.delay += 1;
    return { delayMs: random() * maxDelayMs };
  };
}

async function allHold(t: ExecutionContext, threads: Threads, histories: readonly History[]): Promise<void> {
  for (const history of histories) t.deepEqual(await faultsOf(threads, history), [], 'lost: what was acknowledged');
  const runs = histories.reduce((sum, { accepted }) => sum + accepted.length, 0);
  const written = histories.reduce((sum, { messages }) => sum + messages.filter((each) => each.isWritten).length, 0);
  t.log(`${runs} runs on ${histories.length} threads, ${written} messages acknowledged`);
}

const report = (t: ExecutionContext, { acknowledged, failed, resolved, slowestFailureMs }: Tally): void => {
  t.log(
    `calls: ${acknowledged} acknowledged, ${failed} unavailable (the slowest after ${slowestFailureMs.toFixed(0)} ms); ` +
      `unknown outcomes resolved: ${resolved}`,
  );
};

/** Until so many more calls have ended that way. */
async function more(tally: Tally, how: 'acknowledged' | 'failed', count: number): Promise<void> {
  for (const wanted = tally[how] + count; tally[how] < wanted;) await delay(20);
}
