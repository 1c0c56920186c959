import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readCommandLine, refuseCommandLine } from '@agent-workflow/kit/command-line';
import { pinLoad } from './cores.ts';
import { engine } from './engine.ts';
import { toTable, type Figure } from './figure.ts';
import { invoke } from './invoke.ts';
import { langgraph } from './langgraph.ts';
import { longThread } from './long-thread.ts';
import { manyAgents } from './many-agents.ts';
import type { Bench } from './measure.ts';
import { memories } from './memories.ts';
import { memory } from './memory.ts';
import { mixed } from './mixed.ts';
import { readPeers, toPeersTable } from './peers-table.ts';
import { ping } from './ping.ts';
import { summarise } from './profile.ts';
import { readers } from './readers.ts';
import { otherDialects } from './other-dialects.ts';
import { reads } from './reads.ts';
import { startBareKoa } from './servers.ts';
import { sleep } from './sleep.ts';
import { start } from './start.ts';
import { stream } from './stream.ts';
import { toolLoop } from './tool-loop.ts';
import { webhooks } from './webhooks.ts';

const groups: Readonly<Record<string, (bench: Bench) => Promise<Figure[]>>> = {
  invoke,
  'tool-loop': toolLoop,
  'long-thread': longThread,
  stream,
  readers,
  reads,
  memories,
  memory,
  mixed,
  webhooks,
  langgraph,
  dialects: otherDialects,
  agents: manyAgents,
  ping,
  engine,
  start,
  sleep,
};

const usage = `usage: npm run bench -- [options]
  --only GROUP     ${Object.keys(groups).join(', ')}; may be given more than once
  --seconds N      of each measurement (3)
  --minutes N      of the group mixed (10)
  --runs N         of the group memory (100000)
  --profile        prints where the time goes`;
const { values } = readCommandLine({
  usage,
  options: {
    only: { type: 'string', multiple: true },
    seconds: { type: 'string', default: '3' },
    minutes: { type: 'string', default: '10' },
    runs: { type: 'string', default: '100000' },
    profile: { type: 'boolean', default: false },
  },
});
/** A hundred thousand runs, so many threads twice, minutes of mixed load, rounds at a fixed rate, and another protocol: each takes long, or says nothing of most services. */
const onlyNamed = new Set(['memory', 'mixed', 'webhooks', 'langgraph', 'dialects', 'agents']);
const chosen = values.only ?? Object.keys(groups).filter((name) => !onlyNamed.has(name));
const seconds = Number(values.seconds);
const minutes = Number(values.minutes);
const runs = Number(values.runs);
const unknown = chosen.filter((name) => !Object.hasOwn(groups, name));
if (unknown.length > 0)
  refuseCommandLine(`--only ${unknown.join(', ')}: there are ${Object.keys(groups).join(', ')}`, usage);
if (!(seconds > 0)) refuseCommandLine(`--seconds must be above 0, not ${values.seconds}`, usage);
if (!Number.isInteger(minutes) || minutes < 1)
  refuseCommandLine(`--minutes must be a whole number above 0, not ${values.minutes}`, usage);
if (!Number.isInteger(runs) || runs < 1)
  refuseCommandLine(`--runs must be a whole number above 0, not ${values.runs}`, usage);

const peers = readPeers();
const startedAt = new Date().toISOString();
const results = fileURLToPath(new URL('./results/', import.meta.url));
mkdirSync(results, { recursive: true });
const pinned = pinLoad();
console.log(
  `Node ${process.versions.node}; ${pinned}; ${values.seconds} s a side${values.profile ? '; profiled' : ''}`,
);

const figures: Figure[] = [];
await using bare = await startBareKoa();
for (const name of chosen) {
  process.stderr.write(`${name} …\n`);
  const profileTo = values.profile ? join(results, `profile-${startedAt.replaceAll(':', '')}`, name) : undefined;
  figures.push(...((await groups[name]?.({ seconds, minutes, runs, bare, profileTo })) ?? []));
  if (profileTo !== undefined) console.log(`\n${name}: time of their own\n${summarise(profileTo)}`);
}

console.log(`\n${toTable(figures)}`);
const beside = toPeersTable(peers, figures);
if (beside !== '') console.log(`\nThe peers\n${beside}`);
const file = join(results, `${startedAt.replaceAll(':', '')}.json`);
writeFileSync(
  file,
  `${JSON.stringify({ startedAt, node: process.versions.node, pinned, seconds, figures }, null, 2)}\n`,
);
console.log(`\n${file}`);
