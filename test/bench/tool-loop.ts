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

/**
 * Ten rounds of agent and tool, each step committed: what one round costs the server's processor. Beside it the same with a tool that is
 * declared pure, whose steps are committed together with those that called it; both are measured in turns.
 */
export async function toolLoop(bench: Bench): Promise<Figure[]> {
  await using service = await startService({ agent: 'toolLoop', profileTo: bench.profileTo });
  await using pure = await startService({ agent: 'pureLoop', profileTo: bench.profileTo });
  const services = [service, pure] as const;
  for (const each of services) await perRound(each, 1, bench.seconds / 2);
  const [alone, pureAlone] = await inTurns(services, 1, bench.seconds);
  const [together, pureTogether] = await inTurns(services, 16, bench.seconds);
  const commit = await commitCost();
  return [
    {
      name: 'tool loop, CPU an iteration, 1 caller',
      unit: 'ms',
      ours: alone.cpuMs,
      ...(alone.cpuMs === undefined ? {} : { aim: atMost(alone.cpuMs, 0.3, ' ms') }),
    },
    { name: 'tool loop, CPU an iteration, 16 callers', unit: 'ms', ours: together.cpuMs },
    { name: 'tool loop, time an iteration, 1 caller', unit: 'ms', ours: alone.wallMs },
    { name: '  pure tool, CPU an iteration, 1 caller', unit: 'ms', ours: pureAlone.cpuMs },
    { name: '  pure tool, CPU an iteration, 16 callers', unit: 'ms', ours: pureTogether.cpuMs },
    { name: '  pure tool, time an iteration, 1 caller', unit: 'ms', ours: pureAlone.wallMs },
    { name: '  one fsynced SQLite commit, wall p50', unit: 'ms', ours: commit.wallMs },
    { name: '  one fsynced SQLite commit, CPU', unit: 'ms', ours: commit.cpuMs },
  ];
}

/** What one round takes: of the processor, and of the time of its caller. */
interface Round {
  readonly cpuMs: number | undefined;
  readonly wallMs: number;
}

const turns = 3;

/** Measures both in turns: other work on the machine bends both. Each figure is the median of its turns. */
async function inTurns(
  services: readonly [Server, Server],
  callers: number,
  seconds: number,
): Promise<readonly [Round, Round]> {
  const rounds: [Round[], Round[]] = [[], []];
  for (let turn = 0; turn < turns; turn++)
    for (const [index, service] of services.entries())
      rounds[index]?.push(await perRound(service, callers, seconds / turns));
  const middle = (list: readonly Round[]): Round => {
    const cpu = list.flatMap(({ cpuMs }) => cpuMs ?? []);
    return {
      cpuMs: cpu.length === list.length ? median(cpu) : undefined,
      wallMs: median(list.map(({ wallMs }) => wallMs)),
    };
  };
  return [middle(rounds[0]), middle(rounds[1])];
}

async function perRound(service: Server, callers: number, seconds: number): Promise<Round> {
  const start = performance.now();
  let runs = 0;
  const requests = (): Buffer => {
    runs += 1;
    return request;
  };
  const cpuPerRun = await cpuPerReply(service, requests, callers, seconds);
  return {
    cpuMs: cpuPerRun === undefined ? undefined : cpuPerRun / toolRounds,
    wallMs: ((performance.now() - start) * callers) / runs / toolRounds,
  };
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
