import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import { flushCompileCache } from 'node:module';
import {
  choice,
  ConfigError,
  crossCheck,
  integer,
  printable,
  processEnv,
  readEnv,
  text,
  type CrossCheck,
  type Env,
  type Setting,
  type Settings,
  type Values,
} from '@agent-workflow/kit/env';
import { ServiceError } from '@agent-workflow/kit/errors';
import { createFirstOfKind } from '@agent-workflow/kit/first-of-kind';
import { stopSignal } from '@agent-workflow/kit/life';
import { createLog, isLogText, logFormats, logLevels, type Log } from '@agent-workflow/kit/log';
import { holdHeap } from './heap.ts';
import { mendJsonKeys } from './json-keys.ts';
import { isLoopback } from './loopback.ts';
import { memoryBudget, memoryBudgetOf, memoryBudgetSettings } from './memory-budget.ts';
import { observeSettings } from './observe.ts';
import { reasonOf } from './reason.ts';
import { growingSilence } from './retries.ts';
import { unreadSettings } from './unread-settings.ts';

/** What every process reads from the environment. */
export const processSettings = {
  LOG_LEVEL: choice(logLevels, 'info', 'Least level that is logged'),
  LOG_FORMAT: choice(
    logFormats,
    'auto',
    'How lines of the log are written; `auto` is `text` on a terminal, else `json`',
  ),
  DRAIN_SECONDS: integer(10, 'Seconds that running requests have left after the signal to stop', {
    max: 86_400,
  }),
  ...memoryBudgetSettings,
  ...observeSettings,
} satisfies Settings;

/** What a process reads that serves its context to the others of a cluster. */
export const grpcSettings = {
  GRPC_HOST: text('0.0.0.0', 'Address that a service of a cluster listens on for the others'),
  GRPC_PORT: integer(50_051, 'Port that a service of a cluster listens on for the others; 0 takes a free one', {
    max: 65_535,
  }),
  HEALTH_PORT: integer(
    undefined,
    'Port that serves the health of a service of a cluster and nothing else, without TLS, for probes that have no certificate; unset, only `GRPC_PORT` serves it',
    { max: 65_535 },
  ),
} satisfies Settings;

/** More than one while the token is changed: see `deploy/guide/keys.md`. */
const serviceTokens: Setting<readonly string[] | undefined> = {
  doc: 'What the services of a cluster show each other; several, separated by commas: the first is shown, each is taken',
  fallback: undefined,
  secret: true,
  read: (given) => {
    const tokens = given.split(',').map((token) => token.trim());
    return tokens.every((token) => token !== '')
      ? tokens
      : { problem: 'must be tokens separated by commas, none empty' };
  },
};

/** How the processes of a cluster know each other. */
export const securitySettings = {
  SERVICE_TOKEN: serviceTokens,
  TLS_CERT_FILE: text(undefined, 'The certificate that a process of a cluster shows the others, in PEM'),
  TLS_KEY_FILE: text(undefined, 'Its key, in PEM'),
  TLS_CA_FILE: text(undefined, 'The authorities whose certificates the processes of a cluster believe, in PEM'),
} satisfies Settings;

/** As the wire takes it. */
interface Security {
  readonly token?: string;
  readonly alsoTaken?: readonly string[];
  readonly tls?: { readonly certificate: string; readonly key: string; readonly authorities: string };
}

/** @throws ConfigError when a file of the three is not named, or cannot be read. */
export function toSecurity(values: Values<typeof securitySettings>): Security {
  const {
    SERVICE_TOKEN: tokens = [],
    TLS_CERT_FILE: certificate,
    TLS_KEY_FILE: key,
    TLS_CA_FILE: authorities,
  } = values;
  const [token, ...alsoTaken] = tokens;
  const shown = token === undefined ? {} : { token, ...(alsoTaken.length > 0 && { alsoTaken }) };
  if (certificate === undefined && key === undefined && authorities === undefined) return shown;
  if (certificate === undefined || key === undefined || authorities === undefined)
    throw new ConfigError('TLS_CERT_FILE, TLS_KEY_FILE and TLS_CA_FILE must be set together');
  const unreadable = [certificate, key, authorities].filter((file) => !isReadable(file));
  if (unreadable.length > 0) throw new ConfigError(`${unreadable.join(', ')} cannot be read`);
  return { ...shown, tls: { certificate, key, authorities } };
}

/** Of the settings of each process of a cluster, what must hold between them. */
export const securityChecks = [crossCheck(securitySettings, toSecurity)];

function isReadable(file: string): boolean {
  try {
    accessSync(file, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}

/** How a process serves its context to the others. */
interface GrpcOptions<Pools> {
  readonly host: string;
  readonly port: number;
  readonly healthPort?: number;
  readonly drainMs: number;
  readonly security: Security & { readonly pools?: Pools };
  readonly onFailure: (error: Error, method: string) => void;
}

/** @throws ConfigError when calls would be accepted without credentials on a port that is open to more than this machine. */
function refuseOpenPort({
  GRPC_HOST: host,
  SERVICE_TOKEN: tokens,
  TLS_CERT_FILE: certificate,
}: Values<typeof openPortSettings>): void {
  if (!tokens && certificate === undefined && !isLoopback(host))
    throw new ConfigError(`SERVICE_TOKEN or the TLS files must be set, because GRPC_HOST ${host} lets others in`);
}

const openPortSettings = {
  GRPC_HOST: grpcSettings.GRPC_HOST,
  SERVICE_TOKEN: securitySettings.SERVICE_TOKEN,
  TLS_CERT_FILE: securitySettings.TLS_CERT_FILE,
} satisfies Settings;

/** Of the settings of a process that the others of a cluster call, what must hold between them. */
export const grpcChecks = [...securityChecks, crossCheck(openPortSettings, refuseOpenPort)];

/**
 * `pools`: what the process knows of pools that may call it.
 * @throws ConfigError when calls would be accepted without credentials on a port that is open to more than this machine.
 */
export function toGrpcOptions<Pools extends object>(
  values: Values<typeof grpcSettings & typeof securitySettings & typeof processSettings>,
  log: Log,
  pools?: Pools,
): GrpcOptions<Pools> {
  const security = { ...toSecurity(values), ...(pools && { pools }) };
  const { GRPC_HOST: host, GRPC_PORT: port, HEALTH_PORT: healthPort } = values;
  refuseOpenPort(values);
  const onFailure = logFailedCalls(log);
  const health = healthPort === undefined ? {} : { healthPort };
  return { host, port, ...health, drainMs: values.DRAIN_SECONDS * 1000, security, onFailure };
}

/** Failures whose last line is remembered. */
const rememberedFailures = 100;

/**
 * Logs a failed call with its stack. A call of the same method that fails for the same reason is logged again after a minute, then after two, and so on,
 * because callers make as many calls as they like. The level `debug` has each of them, in a line without a stack.
 */
function logFailedCalls(log: Log): GrpcOptions<never>['onFailure'] {
  const isFirst = createFirstOfKind({ ...growingSilence, max: rememberedFailures });
  return (error, method) => {
    const reason = reasonOf(error);
    if (isFirst(`${method} ${error.name} ${reason}`)) log.error({ err: error, method }, 'a call failed');
    else log.debug({ reason, method }, 'a call failed again');
  };
}

/** A process that serves. Disposal drains it. */
export interface RunningProcess extends AsyncDisposable {
  /** What is printed once it serves, one line each; the last says where it listens. */
  readonly startLines: readonly string[];
}

interface ProcessReading<S extends Settings> {
  readonly settings: S;
  readonly env: Env;
  /** What must hold between the settings. */
  readonly checks?: readonly CrossCheck<NoInfer<S>>[];
}

/** Reads the settings of a process and says what it took. @throws ConfigError naming every variable that does not hold. */
export function beginProcess<S extends Settings & typeof processSettings>(
  service: string,
  { settings, env, checks }: ProcessReading<S>,
): { readonly values: Values<S>; readonly log: Log } {
  const values = readEnv(settings, env, checks);
  const { LOG_LEVEL: level, LOG_FORMAT: format } = values as Values<typeof processSettings>;
  const log = createLog(service, level, format);
  const config = printable(settings, values);
  // People want to see what they have set; the other settings stand in the documents.
  if (isLogText(format))
    log.info(Object.fromEntries(Object.entries(config).filter(([name]) => env[name])), 'configured');
  else log.info({ config: { ...config, MEMORY_BUDGET_MB: budgetMiB(values) } }, 'configured');
  // A command reads some settings of the service that it belongs to, as `threads-migrate` of `threads`, and shares its environment.
  const [kind = service] = service.split('-', 1);
  const variables = unreadSettings(kind, env);
  if (variables.length > 0) log.warn({ variables }, 'environment variables without effect');
  return { values, log };
}

/** The budget in use, whose default is found on the machine. */
const budgetMiB = (values: Values<Settings>): number =>
  Math.floor(memoryBudget(values as Values<typeof processSettings>) / 1024 / 1024);

/**
 * The life of a process: opens it, says that it serves, waits for SIGINT or SIGTERM, and drains. A configuration that does
 * not hold is said in a line each, and so are an address that is taken or not there and a store that cannot be used: the exit code is 1 then. The signal of `open` fires when the process is to stop before it has begun.
 */
export async function runProcess(open: (env: Env, stopping: AbortSignal) => Promise<RunningProcess>): Promise<void> {
  mendJsonKeys();
  const stopping = stopSignal();
  const env = processEnv();
  using held = new DisposableStack();
  try {
    await using running = await open(env, stopping);
    // After the start: V8 refuses code that was compiled under other flags than it has, and these follow the memory of the machine.
    held.use(holdHeap({ budget: memoryBudgetOf(env) }));
    for (const line of running.startLines) process.stdout.write(`${line}\n`);
    // Node writes its compile cache when a process ends by itself: one that is killed would leave its successor to compile all again.
    flushCompileCache();
    if (!stopping.aborted) await once(stopping, 'abort');
  } catch (error) {
    if (stopping.aborted && error === stopping.reason) return;
    const words = error instanceof ConfigError ? error.message : wordsOf(error, env);
    if (words === undefined) throw error;
    process.stderr.write(`${words}\n`);
    process.exitCode = 1;
  } finally {
    endSoon();
  }
}

/** What is left to write is written in much less. */
const endedMs = 1000;

/**
 * Ends the process if anything still holds it a while from now: a timer, a connection or a node of an agent's code outlives the
 * drain, and would run on beside whatever takes over the process's data.
 */
export function endSoon(): void {
  const end = (): void => {
    process.stderr.write('timers or connections are still open: the process ends without them\n');
    process.exit();
  };
  setTimeout(end, endedMs).unref();
}

/** What keeps a process from starting and lies around it rather than in it, in one line; `undefined` for anything else. */
function wordsOf(error: unknown, env: Env): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const host = hostWithoutAddress(error);
  const variables = listenHosts.filter((name) => host !== undefined && env[name] === host);
  if (variables.length > 0)
    return `${variables.join(' and ')} ${String(host)} cannot be listened at: no address is found for this name`;
  const refused = /\blisten (E[A-Z]+)\b/.exec(error.message);
  const why = whyNotBound[refused?.[1] ?? ''];
  if (why !== undefined) return `${addressOf(error)} cannot be listened at: ${why}`;
  return error instanceof ServiceError ? reasonOf(error) : undefined;
}

/** The settings that name what a process listens at. */
const listenHosts = ['HOST', 'METRICS_HOST', 'GRPC_HOST'];

/** The host that DNS has no address for; `undefined` for an error of another kind. */
function hostWithoutAddress(error: Error): string | undefined {
  if ('hostname' in error) return String(error.hostname);
  // The words of gRPC end in `dns:host:port`.
  const [words, target] = error.message.split(' dns:', 2);
  if (words !== 'Name resolution failed for target' || target === undefined) return undefined;
  return target.slice(0, target.lastIndexOf(':'));
}

/** Where an error of a socket happened. Node names no port in its words when any free one was wanted. */
function addressOf(error: Error): string {
  if (!('address' in error)) return addressIn(error.message);
  const port = 'port' in error && typeof error.port === 'number' ? `:${String(error.port)}` : '';
  return `${String(error.address)}${port}`;
}

/** The last `host:port` of a text. */
function addressIn(text: string): string {
  const addresses = text.split(' ').flatMap((word) => {
    const colon = word.lastIndexOf(':');
    const port = colon > 0 ? Number.parseInt(word.slice(colon + 1), 10) : NaN;
    return Number.isNaN(port) ? [] : [`${word.slice(0, colon)}:${String(port)}`];
  });
  return addresses.at(-1) ?? '';
}

/** By the code in the words of Node, which gRPC keeps and says nothing else by. */
const whyNotBound: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another process listens there',
  EACCES: 'the port is for privileged processes',
  EADDRNOTAVAIL: 'this machine has no such address',
};
