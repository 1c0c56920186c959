import { setTimeout as delay } from 'node:timers/promises';
import test from 'ava';
import { link } from '@agent-workflow/protos/wire/link';
import { createThreads } from '@agent-workflow/threads/threads';
import { faultsOf, newTally, playHistory, type Tally } from '../cassandra/histories.ts';
import { generator } from '../kill/random.ts';
import { openSchema } from '../servers/postgres-schema.ts';
import { privatePostgres } from '../servers/postgres.ts';
import { withFaultsOf } from './suite.ts';
import { byLoad } from '../by-load.ts';

/** More versions than any history makes: each of its steps is to be found. */
const keep = 100_000;
const threadCount = 6;

withFaultsOf(test, privatePostgres(), (launched) => {
  test('a PostgreSQL that is killed under load and comes back has lost nothing it acknowledged, and callers need no restart', async (t) => {
    t.timeout(byLoad(120_000));
    const server = await launched();
    await using schema = await openSchema(server);
    // Two replicas: one drives the runs, the other accepts and stops them.
    await using one = await schema.open({ requestTimeoutMs: 1000, deadlineMs: 1500 });
    await using other = await schema.open({ requestTimeoutMs: 1000, deadlineMs: 1500 });
    const [worker, caller] = [one, other].map((store) => link(createThreads({ store, keep })));
    if (!worker || !caller) throw new Error('there are two');
    const tally = newTally();
    let isOver = false;
    const playing = Promise.all(
      Array.from({ length: threadCount }, (_, index) =>
        playHistory({
          ...{ key: { owner: 'u:kill', threadId: `t${String(index)}` }, worker, caller, tally },
          random: generator(index),
          goesOn: () => !isOver,
        }),
      ),
    );
    for (let kill = 0; kill < 2; kill += 1) {
      await more(tally, 'acknowledged', 100);
      await server.kill();
      await more(tally, 'failed', threadCount);
      await server.restart();
    }
    await more(tally, 'acknowledged', 100);
    isOver = true;
    const histories = await playing;
    for (const history of histories) t.deepEqual(await faultsOf(worker, history), [], 'lost: what was acknowledged');
    t.log(
      `${String(tally.acknowledged)} calls acknowledged, ${String(tally.failed)} unavailable (the slowest after ` +
        `${tally.slowestFailureMs.toFixed(0)} ms), ${String(tally.resolved)} unknown outcomes resolved`,
    );
  });
});

/** Until so many more calls have ended that way. */
async function more(tally: Tally, how: 'acknowledged' | 'failed', count: number): Promise<void> {
  for (const wanted = tally[how] + count; tally[how] < wanted && !tally.isBroken;) await delay(20);
}
