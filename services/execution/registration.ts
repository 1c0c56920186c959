import { defaultAgent } from '@agent-workflow/kit/agents';
import { fromUnknown } from '@agent-workflow/kit/errors';
import { ConfigError } from '@agent-workflow/kit/env';
import { every } from '@agent-workflow/kit/life';
import type { Log } from '@agent-workflow/kit/log';
import { retry, type Backoff } from '@agent-workflow/kit/retry';
import { logRetries } from '@agent-workflow/runtime/retries';
import { within } from '@agent-workflow/protos/call';
import type { AgentCalls, RegisteredAgent } from '@agent-workflow/protos/threads';
import { retryingCalls } from './api/retrying-calls.ts';
import {
  leftBehind,
  refuseUnknownCaller,
  registerAgents,
  registeredAmong,
  servingRevisions,
  unknownCallerOf,
  unregisteredAgents,
} from './api/registration.ts';
import type { Agents } from './record/agents.ts';

interface RegistrationOptions {
  readonly agents: Agents;
  readonly threads: AgentCalls;
  readonly log: Log;
  /** Whether no other process holds agents: then this one registers its own, and new runs go to them. */
  readonly isOnly: boolean;
  /** Time between two checks while a revision is not registered, in milliseconds; a minute when absent. */
  readonly checkMs?: number;
  /** How long it is tried again while the threads service does not know this process, in milliseconds; some minutes when absent. */
  readonly unknownForMs?: number;
  /** How long a registration is tried again while the record is unavailable, in milliseconds; two minutes when absent. */
  readonly registerForMs?: number;
  /** Ends the start. */
  readonly stopping?: AbortSignal | undefined;
}

interface KnownOptions extends Pick<RegistrationOptions, 'stopping'> {
  readonly unknownForMs?: number | undefined;
  readonly log: Pick<Log, 'warn'>;
}

const minuteMs = 60_000;
/** The token of a new pool is known within a minute after its file is there, and a file that Kubernetes mounts comes as late. */
const usualUnknownForMs = 2.5 * minuteMs;
const unknownBackoff: Backoff = { firstMs: 500, maxMs: 10_000 };
const callTimeoutMs = 30_000;
const firstCallMs = 10_000;
/** So many of the revisions that are not held are named in the log. */
const namedRevisions = 20;

/**
 * Registers the agents of the only process that holds any. Other processes check that what they hold is what is registered. A revision
 * that is not registered yet stops no start: a deployment may register it once its pods are ready, and no run waits for it before. It is
 * checked again until it is there. Agents without a revision are neither registered nor checked; a line says so where others are
 * registered, whose runs this process cannot drive.
 * @throws ConfigError when the revision is registered with another schema, or the threads service does not know this process for minutes;
 * the reason of `stopping` when that fires first.
 */
export async function openRegistration(options: RegistrationOptions): Promise<AsyncDisposable> {
  const { agents, isOnly, checkMs = minuteMs } = options;
  const { list, revision } = agents;
  if (revision === undefined) {
    await warnOfRevisions(options);
    return nothingOpen;
  }
  if (list.length === 0) return nothingOpen;
  const held = { list, revision };
  if (isOnly) {
    await register(options, held);
    return nothingOpen;
  }
  const isThere = await untilKnown(options, () => isRegistered(options, held)).catch((error: unknown) => {
    options.stopping?.throwIfAborted();
    refuseUnknownCaller(error);
    return unchecked(options, error);
  });
  if (isThere) return nothingOpen;
  return checkAgain({ ...options, checkMs }, held);
}

/**
 * For a process that has nothing to check of its agents: waits until the threads service knows it. One that is unavailable is not waited for.
 * @throws ConfigError when the threads service does not know this process for minutes; the reason of `stopping` when that fires first.
 */
export async function untilCallerKnown(
  options: KnownOptions & {
    readonly threads: Pick<AgentCalls, 'getRegisteredAgent'>;
  },
): Promise<void> {
  const { threads, stopping } = options;
  const request = { agent: defaultAgent };
  await untilKnown(options, () => threads.getRegisteredAgent(request, within(firstCallMs, stopping))).catch(
    (error: unknown) => {
      stopping?.throwIfAborted();
      refuseUnknownCaller(error);
    },
  );
}

/**
 * Makes a check, and makes it again while the threads service does not know this process, which may be a matter of time.
 * @throws what the last one failed with.
 */
export async function untilKnown<T>(
  { log, unknownForMs = usualUnknownForMs, stopping }: KnownOptions,
  check: () => Promise<T>,
): Promise<T> {
  let isLogged = false;
  return retry(check, {
    ...unknownBackoff,
    signal: stopping,
    deadline: Date.now() + unknownForMs,
    mayHelp: (error) => unknownCallerOf(error) !== undefined,
    onRetry: (error) => {
      if (!isLogged) log.warn(`${unknownCallerOf(error)?.message ?? ''}; it is tried again for some minutes`);
      isLogged = true;
    },
  });
}

/**
 * Without a revision of its own a process drives no run of a revision.
 * @throws ConfigError when the threads service does not know this process; of any other failure it warns.
 */
async function warnOfRevisions(options: RegistrationOptions): Promise<void> {
  const { log, stopping } = options;
  try {
    const revisions = servingRevisions(await untilKnown(options, () => readRegistered(options)));
    if (revisions.length === 0) return;
    log.warn(
      { revisions: revisions.slice(0, namedRevisions), count: revisions.length },
      'AGENT_REVISION is not set: this process drives no run of the revisions that are registered',
    );
  } catch (error) {
    stopping?.throwIfAborted();
    refuseUnknownCaller(error);
    log.warn(
      { err: error },
      'it could not be checked whether revisions are registered, whose runs wait for another process',
    );
  }
}

/** Agents that are not held here have workers of their own, unless there are no other processes. */
const readRegistered = async ({ agents, threads, isOnly }: RegistrationOptions): Promise<readonly RegisteredAgent[]> =>
  isOnly
    ? (await threads.listRegisteredAgents({}, within(callTimeoutMs))).agents
    : registeredAmong(agents.list, threads);

type Held = Pick<Agents, 'list'> & { readonly revision: string };

const nothingOpen: AsyncDisposable = { [Symbol.asyncDispose]: () => Promise.resolve() };

async function register({ threads, log, stopping, registerForMs }: RegistrationOptions, held: Held): Promise<void> {
  const onRetry = logRetries({ log, text: 'the agents cannot be registered yet; it is tried again' });
  const retrying = { onRetry, signal: stopping, ...(registerForMs !== undefined && { forMs: registerForMs }) };
  try {
    const revisions = leftBehind(await registerAgents(held, retryingCalls(threads, retrying), 'auto'));
    if (revisions.length === 0) return;
    log.warn({ revisions }, 'runs of earlier revisions wait for a process that holds them, or for their retirement');
  } catch (error) {
    // Names and schemas are the operator's to change.
    const { code, message } = fromUnknown(error);
    if (code === 'Conflict' || code === 'Invalid')
      throw new ConfigError(`AGENT_REVISION: ${message}`, { cause: error });
    throw error;
  }
}

/** @throws ConfigError when the revision is registered with another schema; what a call fails with where it cannot be checked. */
async function isRegistered({ threads, log }: RegistrationOptions, held: Held): Promise<boolean> {
  const names = await unregisteredAgents(held, threads);
  if (names.length === 0) return true;
  log.warn({ agents: names, revision: held.revision }, 'a revision is not registered: no run is given to it yet');
  return false;
}

/** After a check that failed: whether the agents are registered is not known. @throws ConfigError that the check ended with. */
function unchecked({ log }: RegistrationOptions, error: unknown): false {
  if (error instanceof ConfigError) throw error;
  log.warn({ err: error }, 'it could not be checked whether the agents are registered; it is checked again');
  return false;
}

function checkAgain(options: RegistrationOptions & { readonly checkMs: number }, held: Held): AsyncDisposable {
  const { log, checkMs } = options;
  let isDone = false;
  const check = async (): Promise<void> => {
    if (!isDone) isDone = await isRegistered(options, held).catch((error: unknown) => unchecked(options, error));
  };
  return every(checkMs, check, (error) => {
    log.error({ err: error }, 'this process holds another build than the one that is registered');
  });
}
