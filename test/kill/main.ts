import { refuseCommandLine } from '@agent-workflow/kit/command-line';
import { ConfigError } from '@agent-workflow/kit/env';
import { runCampaign } from './campaign.ts';
import { runClusterCampaign } from './cluster-campaign.ts';
import { faultKinds } from './cluster-faults.ts';
import type { LoadFindings } from './load.ts';
import { killUsage, readKillOptions, type KillOptions } from './options.ts';
import { runRevisionCampaign } from './revision-campaign.ts';

const isSound = ({ accepted, faults, restarted, givenUp, mix }: Figures): boolean =>
  faults.length === 0 &&
  accepted > 0 &&
  restarted > 0 &&
  givenUp < accepted / 4 &&
  mix.every((load) => load.faults.length === 0);

interface Figures {
  readonly accepted: number;
  readonly faults: readonly string[];
  /** Absent of a campaign whose callers wait for nothing. */
  readonly late?: readonly string[];
  readonly restarted: number;
  readonly givenUp: number;
  readonly mix: readonly LoadFindings[];
}

const print = (text: string): void => void process.stdout.write(`${text}\n`);
const printLate = (late: readonly string[]): void => {
  for (const what of late) print(`late: ${what}`);
};
const report = (
  seed: number,
  broken: string,
  { accepted, faults, late = [], restarted, givenUp, mix }: Figures,
  more = '',
): void => {
  printLate(late);
  for (const fault of [...faults, ...mix.flatMap((load) => load.faults)]) print(fault);
  for (const load of mix) {
    const counts = Object.entries(load.counts).map(([what, count]) => `${count} ${what}`);
    print(`${load.name}: ${counts.join(', ')}, ${load.faults.length} faults`);
  }
  print(
    `seed ${seed}: ${broken}, ${accepted} accepted runs, ${restarted} steps begun again, ${givenUp} runs given up, ${more}${late.length} late, ${faults.length} faults`,
  );
};

async function killProcess({ seed, kills, runs = 20, agent, isVerbose }: KillOptions): Promise<boolean> {
  const found = await runCampaign({ seed, kills, runs, agent, ...(isVerbose ? { onProgress: print } : {}) });
  report(seed, `${kills} kills`, found);
  return isSound(found);
}

async function breakCluster({ seed, faults, clients, agent, leaseMs, only, isVerbose }: KillOptions): Promise<boolean> {
  const found = await runClusterCampaign({
    ...{ seed, faults, clients, agent },
    ...(leaseMs === 0 ? {} : { leaseMs }),
    weights: only ? Object.fromEntries(faultKinds.map((kind) => [kind, only.includes(kind) ? 1 : 0])) : {},
    ...(isVerbose ? { onProgress: print } : {}),
  });
  const broken = Object.entries(found.injected).map(([kind, count]) => `${count} ${kind}`);
  const { cuts, rebuilt, followedAcrossLoss } = found;
  const resumed = `${cuts} streams resumed, ${followedAcrossLoss} runs followed across a loss`;
  report(seed, broken.join(' '), found, `${resumed}, ${rebuilt} logs told from the record, `);
  return isSound(found);
}

async function switchRevisions({ seed, runs = 600, clients, isVerbose }: KillOptions): Promise<boolean> {
  const found = await runRevisionCampaign({ seed, runs, clients, ...(isVerbose ? { onProgress: print } : {}) });
  printLate(found.late);
  for (const fault of found.faults) print(fault);
  for (const share of found.shares) print(share);
  const counts = Object.entries(found.counts).map(([what, count]) => `${count} ${what}`);
  print(`seed ${seed}: ${counts.join(', ')}, ${found.late.length} late, ${found.faults.length} faults`);
  return found.faults.length === 0 && Object.values(found.counts).every((count) => count > 0);
}

const campaigns = { process: killProcess, cluster: breakCluster, revisions: switchRevisions } as const;

function readOptions(): KillOptions | 'help' {
  try {
    return readKillOptions(process.argv.slice(2));
  } catch (error) {
    return refuseCommandLine((error as Error).message);
  }
}

async function main(): Promise<void> {
  const options = readOptions();
  if (options === 'help') print(killUsage);
  else if (!(await campaigns[options.campaign](options))) process.exitCode = 1;
}

await main().catch((error: unknown) => {
  if (!(error instanceof ConfigError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
});
