import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { isAgentName } from '@agent-workflow/kit/agents';
import {
  ConfigError,
  crossCheck,
  integer,
  text,
  type Setting,
  type Settings,
  type Values,
} from '@agent-workflow/kit/env';
import type { ErrorDetail, ServiceError } from '@agent-workflow/kit/errors';
import { createFirstOfKind } from '@agent-workflow/kit/first-of-kind';
import { every } from '@agent-workflow/kit/life';
import type { Log } from '@agent-workflow/kit/log';
import type { PoolBound, PoolRefusal } from './calls.ts';
import { memoryBudget, type memoryBudgetSettings } from './memory-budget.ts';
import { securitySettings } from './process.ts';
import { rotatedSecrets, secretLength } from './rotated-secrets.ts';

/** What a server of a cluster reads that pools of workers may call. */
export const poolSettings = {
  POOL_CREDENTIALS: text(
    undefined,
    'File of the pools of workers that may call beside the platform: JSON, a list of `{"pool", "sha256", "agents"}`, with the SHA-256 of the pool\'s token and the names of its agents; read again within a minute',
  ),
  POOL_CALLS_IN_FLIGHT: integer(
    10_000,
    'Calls of the workers of one pool that this process may have under way; more are refused, and the workers make them again later',
    { min: 1, max: 1_000_000 },
  ),
  POOL_CALLS_PER_SECOND: integer(
    10_000,
    'Calls of the workers of one pool that this process takes in a second; more are refused, and the workers make them again later',
    { min: 1, max: 1_000_000 },
  ),
  POOL_IN_FLIGHT_MB: integer(
    undefined,
    'Bytes of requests that the calls of one pool under way at this process may have together, in MiB; more are refused, and the workers make them again later; unset, an eighth of `MEMORY_BUDGET_MB`, and at least 64',
    { min: 1, max: 1_048_576 },
  ),
} satisfies Settings;

const bytesPerMiB = 1024 * 1024;
const shareOfPool = 8;
/** Two of the largest requests. */
const leastBytesOfPool = 64 * bytesPerMiB;

type PoolValues = Values<typeof poolSettings>;

function boundsOf(
  values: PoolValues & Values<typeof memoryBudgetSettings>,
): Readonly<Record<keyof typeof settingOf, number>> {
  const { POOL_CALLS_IN_FLIGHT: calls, POOL_CALLS_PER_SECOND: callsPerSecond, POOL_IN_FLIGHT_MB: mebibytes } = values;
  const bytes =
    mebibytes === undefined
      ? Math.max(leastBytesOfPool, Math.floor(memoryBudget(values) / shareOfPool))
      : mebibytes * bytesPerMiB;
  return { calls, callsPerSecond, bytes };
}

/** The settings of bounds; the others are fixed. */
const settingOf = {
  calls: 'POOL_CALLS_IN_FLIGHT',
  callsPerSecond: 'POOL_CALLS_PER_SECOND',
  bytes: 'POOL_IN_FLIGHT_MB',
} as const satisfies Readonly<Partial<Record<PoolBound, keyof PoolValues>>>;

const hasSetting = (bound: PoolBound): bound is keyof typeof settingOf => bound in settingOf;

const grantSecrets = rotatedSecrets(
  `What grants of runs are signed with, for workers of pools: the same for all replicas of threads and memory, and of a gateway that gives files to such workers, and for no worker; at least ${String(secretLength)} characters; several, separated by commas, while it is changed: the first signs, each verifies. Must be set where \`POOL_CREDENTIALS\` is`,
);

/** What a server reads beside, whose calls a worker of a pool makes with the grant of a run. */
export const grantSettings = { GRANT_SECRET: grantSecrets } satisfies Settings;

/** @throws ConfigError when pools may call and no grant could be made. */
export function grantSecretsOf({
  POOL_CREDENTIALS: path,
  GRANT_SECRET: secrets,
  SERVICE_TOKEN: tokens,
}: Pick<PoolValues, 'POOL_CREDENTIALS'> &
  Values<typeof grantSettings & Pick<typeof securitySettings, 'SERVICE_TOKEN'>>):
  readonly [string, ...string[]] | undefined {
  if (path !== undefined && !secrets) throw new ConfigError('GRANT_SECRET must be set where POOL_CREDENTIALS is');
  if (secrets?.some((secret) => tokens?.includes(secret) === true))
    throw new ConfigError('GRANT_SECRET must be none of SERVICE_TOKEN, which workers have');
  return secrets;
}

/** Of the settings of a server that pools may call, what must hold between them. */
export const grantChecks = [
  crossCheck(
    {
      ...{ POOL_CREDENTIALS: poolSettings.POOL_CREDENTIALS, SERVICE_TOKEN: securitySettings.SERVICE_TOKEN },
      ...grantSettings,
    },
    grantSecretsOf,
  ),
];

/** The names of pools. */
const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;

/** The name of a pool, as a worker of it says it. */
export const poolName: Setting<string | undefined> = {
  doc: 'Name of the pool whose token `SERVICE_TOKEN` is, of a worker: it drives runs with their grants, and leaves to the processes with `ROLE=api` what is not about its own runs',
  fallback: undefined,
  read: (value) => (namePattern.test(value) ? value : { problem: 'must be 1 to 63 of a-z, A-Z, 0-9, . _ and -' }),
};

interface Pool {
  readonly name: string;
  readonly agents: ReadonlySet<string>;
}

interface Refusal extends PoolRefusal {
  readonly pool: string;
  readonly why: string;
}

interface Misfit {
  readonly pool: string;
  readonly method: string;
  readonly error: ServiceError;
}

/** A call of a pool that was refused for now, and the bound that it was over. */
interface Limited {
  readonly pool: string;
  readonly bound: PoolBound;
  readonly most: number;
}

/** The pools of a file, kept up to date until disposal. */
interface PoolCredentials extends AsyncDisposable {
  /** The pool whose token has this SHA-256, as hexadecimal digits. */
  readonly poolOf: (sha256: string) => Pool | undefined;
  /** Counts a call of a pool that was refused, and logs the first of a kind in a minute. */
  readonly onRefused: (refusal: Refusal) => void;
  /** Logs a call of a pool that is refused for what its request holds: the first of a kind in ten minutes. */
  readonly onMisfit: (misfit: Misfit) => void;
  /** What one pool may take of this process. Each call beyond is counted, and the first of a pool and bound in a minute is logged. */
  readonly limiting: {
    readonly bounds: ReturnType<typeof boundsOf>;
    readonly onLimited: (limited: Limited) => void;
  };
}

interface PoolCredentialsOptions {
  readonly values: Values<
    typeof poolSettings & typeof memoryBudgetSettings & Pick<typeof securitySettings, 'SERVICE_TOKEN'>
  >;
  readonly log: Log;
  /** Counts a call of a pool that was refused for now. */
  readonly countLimited: (bound: PoolBound) => void;
  /** Counts a call of a pool that was refused. */
  readonly count: (refusal: PoolRefusal) => void;
  /** How often the file is read again, in milliseconds; half a minute when absent. */
  readonly refreshMs?: number;
}

const halfMinuteMs = 30_000;
const minuteMs = 60_000;
const maxBytes = 256 * 1024;
const maxEntries = 1000;
const maxAgents = 100;

/**
 * Reads the file that `POOL_CREDENTIALS` names; `undefined` where it names none. A file that is broken later changes nothing: the pools
 * of the last good one stay, and the log has the fault.
 * @throws ConfigError naming every entry that does not hold, or when the platform has no token of its own.
 */
export function openPoolCredentials(options: PoolCredentialsOptions): PoolCredentials | undefined {
  const { values, log, count, countLimited, refreshMs = halfMinuteMs } = options;
  const { POOL_CREDENTIALS: path, SERVICE_TOKEN: tokens } = values;
  if (path === undefined) return undefined;
  if (!tokens)
    throw new ConfigError(
      'SERVICE_TOKEN must be set where POOL_CREDENTIALS is: without it every caller is of the platform',
    );
  const ours = new Set(tokens.map((token) => createHash('sha256').update(token).digest('hex')));
  let pools = readPools(path, ours);
  const reading = every(
    refreshMs,
    () => {
      pools = readPools(path, ours);
    },
    (error) => log.error({ err: error }, 'POOL_CREDENTIALS cannot be read again; the pools of before stay'),
  );
  return {
    poolOf: (sha256) => pools.get(sha256),
    onRefused: createOnRefused({ log, count }),
    onMisfit: createOnMisfit(log),
    limiting: { bounds: boundsOf(values), onLimited: createOnLimited({ log, countLimited }) },
    [Symbol.asyncDispose]: () => reading[Symbol.asyncDispose](),
  };
}

function createOnRefused({ log, count }: Pick<PoolCredentialsOptions, 'log' | 'count'>): PoolCredentials['onRefused'] {
  let logged = new Set<string>();
  let since = performance.now();
  return ({ pool, method, reason, why }) => {
    count({ method, reason });
    if (performance.now() - since >= minuteMs) [logged, since] = [new Set(), performance.now()];
    const kind = JSON.stringify([pool, method, reason]);
    if (logged.has(kind)) return;
    logged.add(kind);
    log.warn({ pool, method, reason, why }, 'a call of a pool was refused');
  };
}

function createOnLimited({
  log,
  countLimited,
}: Pick<PoolCredentialsOptions, 'log' | 'countLimited'>): (limited: Limited) => void {
  const isFirst = createFirstOfKind({ silentMs: minuteMs, max: remembered });
  return ({ pool, bound, most }) => {
    countLimited(bound);
    if (!isFirst(JSON.stringify([pool, bound]))) return;
    log.warn(
      { pool, ...(hasSetting(bound) ? { setting: settingOf[bound] } : { bound }), most },
      bound === 'replies'
        ? 'a connection of a pool is closed: its worker does not read the replies, and all calls of the pool wait for that'
        : 'calls of a pool are refused for now: its workers make too many',
    );
  };
}

const tenMinutesMs = 10 * minuteMs;
/** Kinds of requests that do not fit whose last line is remembered. */
const remembered = 1000;
/** A longer reason is cut: it may quote a name that the pool chose. */
const maxReason = 500;

function createOnMisfit(log: Log): PoolCredentials['onMisfit'] {
  const isFirst = createFirstOfKind({ silentMs: tenMinutesMs, max: remembered });
  return ({ pool, method, error: { code, message, details } }) => {
    if (!isFirst(JSON.stringify([pool, method, stemOf(details[0]?.field ?? [])]))) return;
    log.warn({ pool, method, code, why: message.slice(0, maxReason) }, 'a call of a pool was refused');
  };
}

/** Below these fields stand names that the pool chose: of each new one there would be a line. */
const ofNames: ReadonlySet<string | number> = new Set(['fields', 'filters']);

/** The beginning of a path, which takes few values. */
const stemOf = ([first, second]: ErrorDetail['field']): ErrorDetail['field'] =>
  first === undefined ? [] : typeof second !== 'string' || ofNames.has(first) ? [first] : [first, second];

/** By the SHA-256 of their tokens. @throws ConfigError */
function readPools(path: string, ours: ReadonlySet<string>): ReadonlyMap<string, Pool> {
  const entries = readEntries(path);
  const pools = new Map<string, Pool>();
  /** Two entries of one pool may have the same agents: its token is being changed. */
  const poolOfAgent = new Map<string, string>();
  const problems = entries.flatMap((entry, index) => {
    const { pool: name, sha256, agents } = (entry ?? {}) as Readonly<Record<string, unknown>>;
    const where = `POOL_CREDENTIALS: entry ${String(index + 1)}${typeof name === 'string' ? ` ("${name.slice(0, 63)}")` : ''}`;
    if (typeof name !== 'string' || !namePattern.test(name))
      return [`${where}: pool must be 1 to 63 of a-z, A-Z, 0-9, . _ and -`];
    if (typeof sha256 !== 'string' || !hashPattern.test(sha256))
      return [`${where}: sha256 must be 64 hexadecimal digits`];
    const hash = sha256.toLowerCase();
    if (hash === ofNothing) return [`${where}: sha256 is that of an empty token`];
    if (ours.has(hash)) return [`${where}: its token is SERVICE_TOKEN`];
    if (pools.has(hash)) return [`${where}: another entry has the same token`];
    if (!Array.isArray(agents) || agents.length === 0 || agents.length > maxAgents || !agents.every(isName))
      return [`${where}: agents must be a list of 1 to ${String(maxAgents)} names of agents`];
    const unknown = Object.keys(entry as object).filter((key) => !keys.has(key));
    if (unknown.length > 0)
      return [`${where}: has ${JSON.stringify(unknown[0]?.slice(0, 63))}, and may have only pool, sha256 and agents`];
    const shared = agents.find((agent) => (poolOfAgent.get(agent) ?? name) !== name);
    if (shared !== undefined)
      return [`${where}: the agent "${shared}" is of the pool "${poolOfAgent.get(shared) ?? ''}" already`];
    for (const agent of agents) poolOfAgent.set(agent, name);
    pools.set(hash, { name, agents: new Set(agents) });
    return [];
  });
  if (problems.length > 0) throw new ConfigError(problems.join('\n'));
  return pools;
}

const keys: ReadonlySet<string> = new Set(['pool', 'sha256', 'agents']);
/** What a script writes whose variable with the token is empty. */
const ofNothing = createHash('sha256').update('').digest('hex');
const hashPattern = /^[0-9a-f]{64}$/i;
const isName = (name: unknown): name is string => typeof name === 'string' && isAgentName(name);

/** @throws ConfigError when the file cannot be read, is too large, or is no list. */
function readEntries(path: string): readonly unknown[] {
  let entries: unknown;
  try {
    const { size } = statSync(path);
    if (size > maxBytes) throw new Error(`it has ${String(size)} bytes, more than ${String(maxBytes)}`);
    entries = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    // The words of a parser quote the file.
    const why = error instanceof SyntaxError ? 'it is no JSON' : error instanceof Error ? error.message : String(error);
    throw new ConfigError(`POOL_CREDENTIALS: ${path} cannot be read: ${why}`);
  }
  if (!Array.isArray(entries) || entries.length > maxEntries)
    throw new ConfigError(`POOL_CREDENTIALS: ${path} must be a list of at most ${String(maxEntries)} entries`);
  return entries;
}
