import { budgetSettings, inFlightBytes } from '@agent-workflow/runtime/budget';
import {
  choice,
  ConfigError,
  crossCheck,
  integer,
  type Env,
  type Setting,
  text,
  type Settings,
  type Values,
} from '@agent-workflow/kit/env';
import { isRevision } from '@agent-workflow/kit/agents';
import { filesSecret } from '@agent-workflow/runtime/rotated-secrets';
import { memoryBudget } from '@agent-workflow/runtime/memory-budget';
import { poolName, poolSettings } from '@agent-workflow/runtime/pool-credentials';
import {
  grpcChecks,
  grpcSettings,
  processSettings,
  securityChecks,
  securitySettings,
} from '@agent-workflow/runtime/process';
import { serviceAddress } from '@agent-workflow/runtime/service-address';
import { serviceFileSettings } from '@agent-workflow/runtime/service-file';
import { natsSettings, refuseShortAge } from './adapters/nats/settings.ts';
import { maxLeaseMs } from './ports/leases.ts';
import { readNetwork, type Network } from './webhooks/reachable.ts';

const agentRevision: Setting<string | undefined> = {
  doc: 'Revision of the agents that this process holds, as they are registered, such as the tag of an image; unset, agents have no revisions, and any process that holds the agent of a run continues it',
  fallback: undefined,
  read: (value) => (isRevision(value) ? value : { problem: 'must be 1 to 128 letters, digits or any of ._:@-' }),
};

const webhookHosts: Setting<readonly string[] | undefined> = {
  doc: 'The hosts that webhooks may name, separated by commas; `*.example.com` is every host below that one; unset, every host of the public internet',
  fallback: undefined,
  read: (value) => {
    const hosts = value.split(',').map((host) => host.trim().toLowerCase());
    return hosts.every((host) => /^(?:\*\.)?[a-z0-9.:[\]-]+$/.test(host))
      ? hosts
      : { problem: 'must be names of hosts' };
  },
};

const webhookNetworks: Setting<readonly Network[] | undefined> = {
  doc: 'Addresses that webhooks may be delivered to although they are not of the public internet, such as `10.1.0.0/16`, separated by commas',
  fallback: undefined,
  read: (value) => {
    const networks = value.split(',').map((text) => readNetwork(text.trim()));
    return networks.every((network) => network !== undefined)
      ? networks
      : { problem: 'must be addresses or networks, such as `10.1.0.0/16`' };
  },
};

const traceContent: Setting<'on' | 'off' | undefined> = {
  doc: 'Whether traces of runs keep what is for operators alone: prompts as they were sent, stacks and log lines (`on`, `off`); they are shown where `auth` is null and the gateway listens on a loopback address. Unset, `on` in a single process of which that holds, else `off`',
  fallback: undefined,
  read: (value) => (value === 'on' || value === 'off' ? value : { problem: 'must be one of on, off' }),
};

/** What the execution service reads from the environment. */
export const executionSettings = {
  RUN_CONCURRENCY: integer(128, 'Runs driven at once by this process', { min: 1, max: 10_000 }),
  RUN_BACKLOG: integer(10_000, 'Runs that may wait for a free place; while so many do, more are refused with 503', {
    min: 1,
    max: 10_000_000,
  }),
  AGENT_BACKLOG: integer(
    undefined,
    'Runs of one agent that may wait; while so many do, more of them are refused with 503; unset, a quarter of `RUN_BACKLOG` where there are several agents',
    { min: 1, max: 10_000_000 },
  ),
  ...budgetSettings,
  HOT_STATE_MB: integer(
    undefined,
    'Memory for states of threads run lately, in MiB; no more than `IN_FLIGHT_MB`; unset, a 32nd of `MEMORY_BUDGET_MB`',
    { min: 1, max: 65_536 },
  ),
  BLOCK_LIMIT_MS: integer(
    10_000,
    "Milliseconds that the agent's code may block the process; longer, and the process ends itself, with run and node named in its log; 0 is without a bound",
    { max: 2 ** 31 - 1 },
  ),
  AGENT_REVISION: agentRevision,
  TRACE_CONTENT: traceContent,
  LEASE_MS: integer(
    6000,
    'Milliseconds that a worker counts as alive after its last heartbeat; then others take over its runs',
    { min: 500, max: maxLeaseMs },
  ),
  THREAD_TTL: integer(
    0,
    'Seconds after which a thread that nothing has changed is deleted, unless it has a `ttl` of its own; 0 keeps it for ever',
    {
      max: 10 ** 10,
    },
  ),
  WAIT_TTL: integer(
    2_592_000,
    'Seconds that `THREAD_TTL` spares a thread that waits for an answer or for results of tools, from the deadline of its question on if it has one; 0 spares it for ever',
    { max: 10 ** 10 },
  ),
  QUEUE_TTL: integer(
    0,
    'Seconds that a run waits for a worker; then it fails, with the name of its agent; 0 is without a bound',
    { max: 31_536_000 },
  ),
  WEBHOOK_HOSTS: webhookHosts,
  WEBHOOK_NETWORKS: webhookNetworks,
  EVENTS_RETENTION: integer(3600, 'Seconds that the events of an ended run can be replayed', { min: 1 }),
  // The agent that comes with the service reads these by itself, as every agent does: `services/command/init/template/agent.ts`.
  MODEL: text(
    undefined,
    'The model that drives the agent that comes with the service; without it that agent answers by rules of its own',
  ),
  OPENAI_BASE_URL: text(
    undefined,
    'Where the OpenAI-compatible API of `MODEL` begins, `/v1` included; `https://api.openai.com/v1` unless given',
  ),
  OPENAI_API_KEY: text(undefined, 'The key of that API', { secret: true }),
} satisfies Settings;

const shareOfAgent = 4;

/** How many runs of all agents, and of one, may wait in the queue, with one agent or several. */
export function backlogBounds(
  { RUN_BACKLOG: all, AGENT_BACKLOG: set }: Pick<Values<typeof executionSettings>, 'RUN_BACKLOG' | 'AGENT_BACKLOG'>,
  { areSeveral }: { readonly areSeveral: boolean },
): { readonly all: number; readonly perAgent: number } {
  const share = areSeveral ? Math.ceil(all / shareOfAgent) : all;
  return { all, perAgent: set ?? share };
}

const bytesPerMiB = 1024 * 1024;
const shareOfThreadCache = 32;

/** Bound of the thread states that a worker caches between runs, in bytes. */
export function threadCacheBytes(values: Values<typeof executionSettings>): number {
  const { HOT_STATE_MB: mebibytes } = values;
  const bytes = mebibytes === undefined ? memoryBudget(values) / shareOfThreadCache : mebibytes * bytesPerMiB;
  return Math.min(bytes, inFlightBytes(values));
}

const filesUrl: Setting<string | undefined> = {
  doc: 'Where workers reach the gateway for the files of `ctx.files`: `http://host:port`; unset, nodes reach no files',
  fallback: undefined,
  read: (value) =>
    /^https?:\/\//.test(value) && URL.canParse(value)
      ? value
      : { problem: 'must be `http://` or `https://` with a host' },
};

/** What the execution service reads as a process of its own. */
export const executionProcessSettings = {
  ...processSettings,
  ...grpcSettings,
  ...securitySettings,
  ...serviceFileSettings,
  ROLE: choice(
    ['all', 'api', 'worker'],
    'all',
    'What a process of the execution service does: accept, follow and stop runs (`api`, which needs no agents of its own), drive them (`worker`), or both',
  ),
  POOL: poolName,
  ...poolSettings,
  THREADS_ADDRESS: serviceAddress('threads'),
  MEMORY_ADDRESS: serviceAddress('memory'),
  FILES_URL: filesUrl,
  FILES_SECRET: filesSecret,
  ...executionSettings,
  ...natsSettings,
} satisfies Settings;

const { ROLE, POOL, NATS_ACCESS, FILES_URL, FILES_SECRET, EVENTS_MAX_AGE, EVENTS_RETENTION } = executionProcessSettings;

/** What must hold between them. */
export const executionProcessChecks = [
  ...grpcChecks,
  crossCheck({ ROLE, POOL }, (values) => {
    if (values.POOL !== undefined && values.ROLE !== 'worker') throw new ConfigError('POOL is for ROLE=worker alone');
  }),
  crossCheck({ ROLE, NATS_ACCESS }, (values) => {
    if (values.NATS_ACCESS === 'pool' && values.ROLE !== 'worker')
      throw new ConfigError(`NATS_ACCESS=pool is for ROLE=worker, not for ROLE=${values.ROLE}`);
  }),
  crossCheck({ FILES_URL, FILES_SECRET, POOL }, (values) => {
    if (values.FILES_URL !== undefined && !values.FILES_SECRET && values.POOL === undefined)
      throw new ConfigError('FILES_SECRET or POOL must be set where FILES_URL is');
  }),
  crossCheck({ EVENTS_MAX_AGE, EVENTS_RETENTION }, (values) =>
    refuseShortAge(values.EVENTS_MAX_AGE, values.EVENTS_RETENTION),
  ),
];

/** Warnings of secrets that a worker of a pool is given and does not need: with them it reaches more than the runs of its pool. */
export function poolWarnings(
  { POOL: pool, FILES_SECRET: secrets }: Pick<Values<typeof executionProcessSettings>, 'POOL' | 'FILES_SECRET'>,
  env: Env,
): readonly string[] {
  if (pool === undefined) return [];
  const files =
    'FILES_SECRET opens the files of all runs; a worker with POOL reaches those of its own runs without it: leave it out';
  const grants = 'GRANT_SECRET gives grants of all runs; a worker with POOL gets those of its own runs: leave it out';
  return [...(secrets ? [files] : []), ...(env['GRANT_SECRET'] ? [grants] : [])];
}

/** What the registration of agents reads: all of it is of the process whose agents they are. */
export const registrationSettings = {
  ...securitySettings,
  ...serviceFileSettings,
  THREADS_ADDRESS: executionProcessSettings.THREADS_ADDRESS,
  AGENT_REVISION: agentRevision,
} satisfies Settings;

/** What must hold between them. */
export const registrationChecks = securityChecks;
