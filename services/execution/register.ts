import { ConfigError, readEnv, type Env } from '@agent-workflow/kit/env';
import { toSecurity } from '@agent-workflow/runtime/process';
import { readServiceFile } from '@agent-workflow/runtime/service-file';
import { connect } from '@agent-workflow/protos/wire/connect';
import { loadAgents } from './agents/load.ts';
import { retryingCalls } from './api/retrying-calls.ts';
import { refuseUnknownCaller, registerAgents, type RoutingChoice } from './api/registration.ts';
import { registrationChecks, registrationSettings } from './config.ts';

/** An agent that was registered, and the line that says so. */
interface RegisteredLine {
  readonly agent: string;
  readonly line: string;
}

/**
 * Registers the agents of `service.json` at `AGENT_REVISION` with the threads service of a cluster. A second call changes nothing.
 * For two minutes each call is made again that may help; `onRetry` is called with each failure that another attempt follows.
 * @returns each agent with its line.
 * @throws ConfigError for what the environment or the file lacks, and when the service does not know the token; Conflict when the revision is registered with another schema, or the
 * routing has changed since the call began.
 */
export async function registerFrom(
  env: Env,
  choice: RoutingChoice,
  onRetry: (error: unknown) => void = () => undefined,
): Promise<readonly RegisteredLine[]> {
  const values = readEnv(registrationSettings, env, registrationChecks);
  const { AGENT_REVISION: revision, THREADS_ADDRESS: address } = values;
  if (revision === undefined) throw new ConfigError('AGENT_REVISION must be set to register agents');
  const { list } = await loadAgents(readServiceFile(values.SERVICE_CONFIG));
  if (list.length === 0) throw new ConfigError('service.json names no agent');
  await using connected = connect('threads', address, toSecurity(values));
  const threads = retryingCalls(connected, { onRetry });
  const agents = await registerAgents({ list, revision }, threads, choice).catch((error: unknown) => {
    refuseUnknownCaller(error);
    throw error;
  });
  return agents.map(({ agent, routing: { version, current = 'none' } }) => ({
    agent,
    line: `agent ${agent}, revision ${revision}, current ${current}, routing version ${String(version)}`,
  }));
}
