import { parseArgs } from 'node:util';
import { runCampaign } from './campaign.ts';
import { runClusterCampaign } from './cluster-campaign.ts';
import { runRevisionCampaign } from './revision-campaign.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    kills: { type: 'string', default: '40' },
    runs: { type: 'string' },
    cluster: { type: 'boolean', default: false },
    revisions: { type: 'boolean', default: false },
    faults: { type: 'string', default: '60' },
    clients: { type: 'string', default: '12' },
    lease: { type: 'string', default: '1500' },
    speculative: { type: 'boolean', default: false },
    pure: { type: 'boolean', default: false },
    only: { type: 'string' },
    verbose: { type: 'boolean', default: false },
  },
});

const isSound = ({ accepted, faults, restarted, givenUp }: Figures): boolean =>
  faults.length === 0 && accepted > 0 && restarted > 0 && givenUp < accepted / 4;

interface Figures {
  readonly accepted: number;
  readonly faults: readonly string[];
  readonly restarted: number;
  readonly givenUp: number;
}

/** `--speculative`: steps begin while the one before is being committed. `--pure`: those of tools are committed together with it. */
const agent = values.speculative ? 'speculative' : values.pure ? 'pure' : 'metered';

const print = (text: string): void => void process.stdout.write(`${text}\n`);
const report = (broken: string, { accepted, faults, restarted, givenUp }: Figures, more = ''): void => {
  for (const fault of faults) print(fault);
  print(
    `seed ${values.seed}: ${broken}, ${accepted} accepted runs, ${restarted} steps begun again, ${givenUp} runs given up, ${more}${faults.length} faults`,
  );
};

async function killProcess(): Promise<boolean> {
  const found = await runCampaign({
    seed: Number(values.seed),
    kills: Number(values.kills),
    runs: Number(values.runs ?? '20'),
    agent,
    ...(values.verbose ? { onProgress: print } : {}),
  });
  report(`${values.kills} kills`, found);
  return isSound(found);
}

/** `--only worker` breaks nothing else; `--lease 0` leaves the shipped lease. */
async function breakCluster(): Promise<boolean> {
  const kinds = ['worker', 'gateway', 'threads', 'nats', 'nats-lost', 'cassandra'] as const;
  const only = values.only?.split(',');
  const found = await runClusterCampaign({
    seed: Number(values.seed),
    faults: Number(values.faults),
    clients: Number(values.clients),
    agent,
    ...(values.lease === '0' ? {} : { leaseMs: Number(values.lease) }),
    weights: only ? Object.fromEntries(kinds.map((kind) => [kind, only.includes(kind) ? 1 : 0])) : {},
    ...(values.verbose ? { onProgress: print } : {}),
  });
  const broken = Object.entries(found.injected).map(([kind, count]) => `${count} ${kind}`);
  const { cuts, rebuilt, followedAcrossLoss } = found;
  const resumed = `${cuts} streams resumed, ${followedAcrossLoss} runs followed across a loss`;
  report(broken.join(' '), found, `${resumed}, ${rebuilt} logs told from the record, `);
  return isSound(found);
}

async function switchRevisions(): Promise<boolean> {
  const found = await runRevisionCampaign({
    seed: Number(values.seed),
    runs: Number(values.runs ?? '600'),
    clients: Number(values.clients),
    ...(values.verbose ? { onProgress: print } : {}),
  });
  for (const fault of found.faults) print(fault);
  for (const share of found.shares) print(share);
  const counts = Object.entries(found.counts).map(([what, count]) => `${count} ${what}`);
  print(`seed ${values.seed}: ${counts.join(', ')}, ${found.faults.length} faults`);
  return found.faults.length === 0 && Object.values(found.counts).every((count) => count > 0);
}

async function run(): Promise<boolean> {
  if (values.revisions) return switchRevisions();
  return values.cluster ? breakCluster() : killProcess();
}

process.exitCode = (await run()) ? 0 : 1;
