import { ConfigError } from '@agent-workflow/kit/env';
import { isServiceError } from '@agent-workflow/kit/errors';
import type { Log } from '@agent-workflow/kit/log';
import { within } from '@agent-workflow/protos/call';
import { poolOfToken } from '@agent-workflow/protos/refusals';
import type { AgentCalls } from '@agent-workflow/protos/threads';
import { refuseUnknownCaller, unknownCallerOf } from './api/registration.ts';
import { isAway, whileAway } from './record/away.ts';
import { untilKnown } from './registration.ts';
import type { Agents } from './record/agents.ts';

interface PoolNameOptions {
  /** `POOL`. */
  readonly pool: string;
  readonly agents: Pick<Agents, 'list'>;
  readonly threads: Pick<AgentCalls, 'getRegisteredAgent'>;
  readonly log: Pick<Log, 'warn'>;
  /** Ends the waiting for the threads service. */
  readonly signal: AbortSignal;
  /** How long that is waited for, in milliseconds; half a minute when absent. */
  readonly waitMs?: number;
  /** How long it is tried again while the threads service does not know the token, in milliseconds; some minutes when absent. */
  readonly unknownForMs?: number;
}

const callTimeoutMs = 10_000;
const halfMinuteMs = 30_000;

/**
 * Checks that the token of this worker is that of the pool that its settings name. A token of the platform does not stop the start, but the log warns
 * of what it allows. A threads service that stays unavailable does not stop the start either.
 * @throws ConfigError when the token is of another pool, or the threads service does not know it for minutes.
 */
export async function checkPoolName(options: PoolNameOptions): Promise<void> {
  const { pool, agents, threads, log, signal, waitMs: forMs = halfMinuteMs, unknownForMs } = options;
  const [agent] = agents.list;
  if (!agent) return;
  const onAway = (error: unknown): void =>
    log.warn({ err: error }, 'the threads service does not answer yet: it knows the pool of the token');
  const mayPass = (error: unknown): boolean => isAway(error) && unknownCallerOf(error) === undefined;
  const whileThere = { signal, onAway, forMs, mayPass };
  const found = await untilKnown({ log, unknownForMs, stopping: signal }, () =>
    whileAway(() => poolOf(threads, agent.name), whileThere),
  ).catch(ifAway);
  if (found === undefined) return;
  if (found.name === undefined)
    log.warn(
      `POOL is "${pool}", and SERVICE_TOKEN is the token of no pool: the threads service lets this worker do what processes of the platform may`,
    );
  else if (found.name !== pool)
    throw new ConfigError(`POOL is "${pool}", and SERVICE_TOKEN is the token of the pool "${found.name}"`);
}

const ifAway = (error: unknown): undefined => {
  refuseUnknownCaller(error);
  if (!isAway(error)) throw error;
};

/** Whose token this worker shows: the name of a pool, or `undefined` for the token of the platform. */
interface Shown {
  readonly name: string | undefined;
}

async function poolOf(threads: PoolNameOptions['threads'], agent: string): Promise<Shown> {
  try {
    return { name: (await threads.getRegisteredAgent({ agent }, within(callTimeoutMs))).pool };
  } catch (error) {
    if (isAway(error) || !isServiceError(error)) throw error;
    // The agent is not registered yet, or is not one of the pool.
    return { name: error.details.find(({ type }) => type === poolOfToken)?.msg };
  }
}
