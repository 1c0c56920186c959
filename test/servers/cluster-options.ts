import { existsSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { ConfigError, integer } from '@agent-workflow/kit/env';
import { recordServers, type RecordServer } from './cluster-ground.ts';

/** What `npm run cluster` starts. */
export interface ClusterOptions {
  readonly gateways: number;
  readonly threads: number;
  readonly executions: number;
  /** Workers of each pool. */
  readonly workers: number;
  /** The port of the first gateway; each further one has the next. */
  readonly port: number;
  /** A `service.json`; absent: the agents of this repository, in pools. */
  readonly config: string | undefined;
  /** Whether the agents of `config` are in a pool. */
  readonly isPooled: boolean;
  readonly level: string;
  /** What holds the record. */
  readonly store: RecordServer;
}

export const clusterUsage = `usage: npm run cluster -- [options]
  --gateways N, --threads N, --executions N   processes of each kind (2)
  --workers N                                 workers of each pool (1): default at v1, echo at v1 and at v2
  --port N                                    port of the first gateway (8000)
  --config FILE                               a service.json, whose agents each execution process holds
  --pools                                     with --config: its agents are in a pool at v1, and no execution process holds them
  --store cassandra|postgres                  what holds the record (cassandra)
  --level LEVEL                               level of the logs (info)`;

const options = {
  help: { type: 'boolean', short: 'h', default: false },
  gateways: { type: 'string', default: '2' },
  threads: { type: 'string', default: '2' },
  executions: { type: 'string', default: '2' },
  port: { type: 'string', default: '8000' },
  config: { type: 'string' },
  pools: { type: 'boolean', default: false },
  workers: { type: 'string', default: '1' },
  store: { type: 'string', default: 'cassandra' },
  level: { type: 'string', default: 'info' },
} as const;

/** The most processes of a kind. */
const mostProcesses = 50;

/** @returns `help` where that is asked for. @throws ConfigError that names the option, with the usage */
export function readClusterOptions(args: readonly string[]): ClusterOptions | 'help' {
  try {
    const { values } = parseArgs({ args: [...args], options });
    if (values.help) return 'help';
    const { config, pools: isPooled, level } = values;
    if (config !== undefined && !existsSync(config)) throw new Error(`--config: there is no file "${config}"`);
    const gateways = wholeNumber('gateways', values.gateways, mostProcesses);
    return {
      gateways,
      threads: wholeNumber('threads', values.threads, mostProcesses),
      executions: wholeNumber('executions', values.executions, mostProcesses),
      workers: wholeNumber('workers', values.workers, mostProcesses),
      port: wholeNumber('port', values.port, 65_536 - gateways),
      config,
      isPooled,
      level,
      store: readStore(values.store),
    };
  } catch (error) {
    throw new ConfigError(`${error instanceof Error ? error.message : String(error)}\n\n${clusterUsage}`);
  }
}

/** @throws Error that names the stores */
function readStore(text: string): RecordServer {
  const store = recordServers.find((name) => name === text);
  if (store !== undefined) return store;
  throw new Error(`--store must be one of ${recordServers.join(', ')}, not "${text}"`);
}

function wholeNumber(name: string, text: string, max: number): number {
  const value = integer(undefined, '', { min: 1, max }).read(text);
  if (typeof value === 'number') return value;
  throw new Error(`--${name} must be a whole number from 1 to ${String(max)}, not "${text}"`);
}
