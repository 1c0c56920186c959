import { openSqlite } from '@agent-workflow/runtime/sqlite/sqlite';
import { join } from 'node:path';
import { toolRounds } from './agents.ts';
import { atMost, median, type Figure } from './figure.ts';
import { toRequest } from './load.ts';
import { cpuPerReply, type Bench } from './measure.ts';
import { makeFolder, removeFolder, startService, type Server } from './servers.ts';

const request = toRequest('POST', '/v1/graph/invoke', {
  messages: [{ role: 'user', content: 'count to ten' }],
  response_granularity: 'low',
});

/** Ten rounds of agent and tool, each step committed: what one round costs the server's processor. */
export async function toolLoop(bench: Bench): Promise<Figure[]> {
  await using service = await startService({ agent: 'toolLoop', profileTo: bench.profileTo });
  await cpuPerRound(service, 1, bench.seconds / 2);
  const alone = await cpuPerRound(service, 1, bench.seconds);
  const together = await cpuPerRound(service, 16, bench.seconds);
  const commit = await commitCost();
  return [
    {
      name: 'tool loop, CPU an iteration, 1 caller',
      unit: 'ms',
      ours: alone,
      ...(alone === undefined ? {} : { aim: atMost(alone, 0.3, ' ms') }),
    },
    { name: 'tool loop, CPU an iteration, 16 callers', unit: 'ms', ours: together },
    { name: '  one fsynced SQLite commit, wall p50', unit: 'ms', ours: commit.wallMs },
    { name: '  one fsynced SQLite commit, CPU', unit: 'ms', ours: commit.cpuMs },
  ];
}

async function cpuPerRound(service: Server, callers: number, seconds: number): Promise<number | undefined> {
  const perRun = await cpuPerReply(service, () => request, callers, seconds);
  return perRun === undefined ? undefined : perRun / toolRounds;
}

/** One small row and one fsync at a time, in this process: the least that a committed step can cost here. */
async function commitCost(): Promise<{ wallMs: number; cpuMs: number }> {
  const folder = makeFolder();
  const commits = 400;
  const times: number[] = [];
  try {
    using db = openSqlite({
      path: join(folder, 'commits.sqlite'),
      durability: 'full',
      migrations: ['CREATE TABLE rows (id INTEGER PRIMARY KEY, json TEXT NOT NULL) STRICT'],
    });
    const insert = (): unknown => db.prepare('INSERT INTO rows (json) VALUES (?)').run('x'.repeat(200));
    await db.write(insert);
    const before = process.cpuUsage();
    for (let index = 0; index < commits; index++) {
      const start = performance.now();
      await db.write(insert);
      times.push(performance.now() - start);
    }
    const { user, system } = process.cpuUsage(before);
    return { wallMs: median(times), cpuMs: (user + system) / 1000 / commits };
  } finally {
    removeFolder(folder);
  }
}
