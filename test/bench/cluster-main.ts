import { readCommandLine, refuseCommandLine } from '@agent-workflow/kit/command-line';
import { clusterAbsence, recordServers, type RecordServer } from '../servers/cluster-ground.ts';
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
  readonly store: RecordServer;
}

/** The figures of the cluster: every process and server on this machine, and no core held for any of them. */
const groups: Readonly<Record<string, (seconds: number, given: Given) => Promise<Figure[]>>> = {
  cost: (seconds, { store }) => cost(seconds, store),
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

/** These can have their record on another server than Cassandra. */
const onAnyStore: readonly string[] = ['cost', 'load'];

const usage = `usage: npm run bench:cluster -- [options]
  --only GROUP        ${Object.keys(groups).join(', ')}; may be given more than once
  --store STORE       cassandra or postgres holds the record (cassandra); postgres in ${onAnyStore.join(' and ')} alone, which it chooses
  --seconds N         of each measurement (5)
  --processes N       of each kind, in the group load
  --threads N         of the group agents (100000)
  --profile           prints where the time goes`;
const { values } = readCommandLine({
  usage,
  options: {
    processes: { type: 'string' },
    only: { type: 'string', multiple: true },
    store: { type: 'string', default: 'cassandra' },
    profile: { type: 'boolean', default: false },
    seconds: { type: 'string', default: '5' },
    threads: { type: 'string', default: '100000' },
  },
});
const store = recordServers.find((name) => name === values.store);
if (store === undefined)
  refuseCommandLine(`--store must be one of ${recordServers.join(', ')}, not "${values.store}"`, usage);
const usual = store === 'cassandra' ? Object.keys(groups).filter((name) => !long.has(name)) : onAnyStore;
const chosen = values.only ?? usual;
const unknown = chosen.filter((name) => !Object.hasOwn(groups, name));
if (unknown.length > 0)
  refuseCommandLine(`--only ${unknown.join(', ')}: there are ${Object.keys(groups).join(', ')}`, usage);
const misplaced = store === 'cassandra' ? [] : chosen.filter((name) => !onAnyStore.includes(name));
if (misplaced.length > 0) refuseCommandLine(`--store ${store}: ${misplaced.join(', ')} runs on Cassandra alone`, usage);
const absence = clusterAbsence(store);
if (absence !== undefined) throw new Error(absence);

const figures: Figure[] = [];
const given: Given = {
  isProfiled: values.profile,
  store,
  threads: Number(values.threads),
  processes: values.processes === undefined ? undefined : Number(values.processes),
};
for (const name of chosen) {
  process.stderr.write(`${name} …\n`);
  figures.push(...((await groups[name]?.(Number(values.seconds), given)) ?? []));
}
console.log(toTable(figures));
if (figures.some(({ aim }) => aim?.met === false)) process.exitCode = 1;
