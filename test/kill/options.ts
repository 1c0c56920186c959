import { parseArgs } from 'node:util';
import { ConfigError, integer } from '@agent-workflow/kit/env';
import { faultKinds, type FaultKind } from './cluster-faults.ts';

/** What `npm run test:kill` does. */
export interface KillOptions {
  readonly campaign: 'process' | 'cluster' | 'revisions';
  readonly seed: number;
  readonly kills: number;
  /** Absent: as many as the campaign usually has. */
  readonly runs: number | undefined;
  readonly faults: number;
  readonly clients: number;
  /** Of workers, in milliseconds; 0 leaves the shipped one. */
  readonly leaseMs: number;
  /** How the agent commits its steps: begun before the commit of the step before, or together with it. */
  readonly agent: 'metered' | 'speculative' | 'pure';
  /** What alone a cluster campaign breaks; absent: everything. */
  readonly only: readonly FaultKind[] | undefined;
  readonly isVerbose: boolean;
}

export const killUsage = `usage: npm run test:kill -- [options]
  --seed N                     of all that is random
  --kills N, --runs N          kills of the one process (40), with so many runs under way (20)
  --cluster                    breaks a cluster instead
    --faults N, --clients N    so many times (60), while so many callers are at work (12)
    --only KIND,…              breaks ${faultKinds.join(', ')} alone
    --lease MS                 of the workers (1500); 0 leaves the shipped one
  --revisions                  kills workers while revisions change, with --runs (600) and --clients (12)
  --speculative, --pure        how the agent commits its steps
  --verbose                    prints the progress`;

const options = {
  help: { type: 'boolean', short: 'h', default: false },
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
} as const;

/** @returns `help` where that is asked for. @throws ConfigError that names the option, with the usage */
export function readKillOptions(args: readonly string[]): KillOptions | 'help' {
  try {
    const { values } = parseArgs({ args: [...args], options });
    if (values.help) return 'help';
    return {
      campaign: values.revisions ? 'revisions' : values.cluster ? 'cluster' : 'process',
      seed: wholeNumber('seed', values.seed),
      kills: wholeNumber('kills', values.kills, 1),
      runs: values.runs === undefined ? undefined : wholeNumber('runs', values.runs, 1),
      faults: wholeNumber('faults', values.faults, 1),
      clients: wholeNumber('clients', values.clients, 1),
      leaseMs: wholeNumber('lease', values.lease),
      agent: values.speculative ? 'speculative' : values.pure ? 'pure' : 'metered',
      only: values.only?.split(',').map(readKind),
      isVerbose: values.verbose,
    };
  } catch (error) {
    throw new ConfigError(`${error instanceof Error ? error.message : String(error)}\n\n${killUsage}`);
  }
}

function readKind(text: string): FaultKind {
  const kind = faultKinds.find((each) => each === text);
  if (kind === undefined) throw new Error(`--only must be of ${faultKinds.join(', ')}, not "${text}"`);
  return kind;
}

function wholeNumber(name: string, text: string, min = 0): number {
  const value = integer(undefined, '', { min }).read(text);
  if (typeof value === 'number') return value;
  throw new Error(`--${name} must be a whole number from ${String(min)}, not "${text}"`);
}
