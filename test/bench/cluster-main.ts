import { parseArgs } from 'node:util';
import { clusterAbsence } from '../servers/cluster-ground.ts';
import { clusterAgents } from './cluster-agents.ts';
import { cost } from './cluster-cost.ts';
import { floor } from './cluster-floor.ts';
import { frozen } from './cluster-frozen.ts';
import { load } from './cluster-load.ts';
import { moreReplicas } from './cluster-replicas.ts';
import { noisy } from './cluster-noisy.ts';
import { idleStreams } from './cluster-streams.ts';
import { speculative } from './cluster-speculative.ts';
import { toTable, type Figure } from './figure.ts';
import { scaling } from './cluster-scaling.ts';

interface Given {
  readonly isProfiled: boolean;
  readonly threads: number;
  /** Of each kind; absent: as `test/servers/cluster.ts` has them. */
  readonly processes: number | undefined;
}

/** The figures of the cluster: every process and server on this machine, and no core held for any of them. */
const groups: Readonly<Record<string, (seconds: number, given: Given) => Promise<Figure[]>>> = {
  cost,
  load,
  frozen,
  scaling,
  speculative,
  streams: idleStreams,
  replicas: moreReplicas,
  noisy,
  floor,
  agents: (seconds, { threads }) => clusterAgents(seconds, threads),
};

/** Run only when they are named. */
const long: ReadonlySet<string> = new Set(['agents', 'floor', 'noisy']);

const { values } = parseArgs({
  options: {
    processes: { type: 'string' },
    only: { type: 'string', multiple: true },
    profile: { type: 'boolean', default: false },
    seconds: { type: 'string', default: '5' },
    threads: { type: 'string', default: '100000' },
  },
});
const chosen = values.only ?? Object.keys(groups).filter((name) => !long.has(name));
const unknown = chosen.filter((name) => !Object.hasOwn(groups, name));
if (unknown.length > 0) throw new Error(`--only ${unknown.join(', ')}: there are ${Object.keys(groups).join(', ')}`);
const absence = clusterAbsence();
if (absence !== undefined) throw new Error(absence);

const figures: Figure[] = [];
const given: Given = {
  isProfiled: values.profile,
  threads: Number(values.threads),
  processes: values.processes === undefined ? undefined : Number(values.processes),
};
for (const name of chosen) {
  process.stderr.write(`${name} …\n`);
  figures.push(...((await groups[name]?.(Number(values.seconds), given)) ?? []));
}
console.log(toTable(figures));
if (figures.some(({ aim }) => aim?.met === false)) process.exitCode = 1;
