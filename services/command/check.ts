import { loadAgents } from '@agent-workflow/execution/agents/load';
import type { RoutingChoice } from '@agent-workflow/execution/api/registration';
import { registerFrom } from '@agent-workflow/execution/register';
import { readRules } from '@agent-workflow/gateway/access/read-rules';
import { summaryOf } from '@agent-workflow/gateway/access/summary';
import { openAuth } from '@agent-workflow/gateway/auth/open';
import { hostOf } from '@agent-workflow/gateway/config';
import type { Agent } from '@agent-workflow/execution/record/agents';
import { ConfigError, processEnv, readEnv } from '@agent-workflow/kit/env';
import { createLog } from '@agent-workflow/kit/log';
import { reasonOf } from '@agent-workflow/runtime/reason';
import { readServiceFile, type ServiceFile } from '@agent-workflow/runtime/service-file';
import { standaloneSettings } from '@agent-workflow/standalone/config';
import { deployedFrom } from './deployed.ts';
import { type Gateway, clientOf, isGatewayFault } from './gateway.ts';
import { print, reporting } from './reporting.ts';
import { unservedWarning } from '@agent-workflow/protos/routing';

/**
 * Does what a start does up to opening its data, and prints what it found. @returns 1 when something would stop a start.
 */
export async function check({ schema }: { readonly schema: boolean }): Promise<number> {
  return reporting(async () => {
    const values = readEnv(standaloneSettings, processEnv());
    const file = readServiceFile(values.SERVICE_CONFIG);
    const access = readRules(file);
    using auth = await openAuth({
      file,
      config: values,
      rolePlaces: access.claims,
      host: hostOf(values, file),
      log: createLog('check', 'silent'),
    });
    const agents = await loadAgents(file, (warning) => process.stderr.write(`warning: ${warning}\n`));
    // A service without agents starts, and keeps threads and memories.
    if (agents.list.length === 0) print(['agent    none: requests that run one are 404']);
    for (const agent of agents.list) print(describe(file, agent));
    print([`callers  ${auth.summary}`, ...summaryOf(access)]);
    const { lines, warnings } = deployedFrom(file);
    print(lines);
    for (const warning of warnings) process.stderr.write(`warning: ${warning}\n`);
    for (const agent of agents.list) {
      // A comment of Mermaid says whose drawing follows.
      if (agents.areNamed) print([`%% ${agent.name}`]);
      print(agent.graph.drawing.mermaid.trimEnd().split('\n'));
      if (schema) print([JSON.stringify(agent.graph.fields, null, 2)]);
    }
  });
}

/** Prints each agent with its nodes and tools. @returns 1 when one does not load, or there is none. */
export async function agents(): Promise<number> {
  return reporting(async () => {
    const file = readServiceFile(readEnv(standaloneSettings, processEnv()).SERVICE_CONFIG);
    const { list } = await loadAgents(file);
    if (list.length === 0) throw new ConfigError('service.json names no agent');
    for (const agent of list) print(describe(file, agent));
  });
}

/**
 * Registers the agents with the threads service of a cluster, and prints where new runs go. If a gateway is given, it looks there whether workers are
 * ready for these runs, and warns where none are. @returns 1 when the service refuses or is unavailable: the same command may be given again.
 */
export async function register(routing: RoutingChoice, gateway: Gateway | undefined): Promise<number> {
  return reporting(async () => {
    const registered = await registerFrom(processEnv(), routing, createRetryLine());
    print(registered.map(({ line }) => line));
    if (gateway && routing === 'auto')
      await warnOfUnserved(
        gateway,
        registered.map(({ agent }) => agent),
      );
  });
}

const describe = ({ agent, agents }: ServiceFile, { name, graph }: Agent): readonly string[] => [
  `agent    ${agents ? name : (agent ?? '')}`,
  `nodes    ${[...graph.nodes.keys()].join(', ')}`,
  `tools    ${graph.tools.map(({ name }) => name).join(', ') || 'none'}`,
];

/** Prints why it is tried again, once for each reason in a row. */
function createRetryLine(): (error: unknown) => void {
  let last = '';
  return (error) => {
    const reason = reasonOf(error);
    if (reason !== last) process.stderr.write(`the agents cannot be registered yet: ${reason}; it is tried again\n`);
    last = reason;
  };
}

/**
 * Warns on standard error where new runs of these agents go to revisions that have no worker, as `agents route` does. Where the gateway gives
 * no answer, a warning says so, and the command succeeds all the same: what it was to do is done.
 */
async function warnOfUnserved(gateway: Gateway, names: readonly string[]): Promise<void> {
  try {
    const { agents } = clientOf(gateway);
    for (const name of names) {
      const { revisions = [] } = await agents.get(name);
      for (const { revision, percent, workers } of revisions)
        if (percent > 0 && workers === 0) warn(`agent ${name}: ${unservedWarning(revision)}`);
    }
  } catch (error) {
    if (!isGatewayFault(error)) throw error;
    warn(`it could not be seen whether workers are there: ${error.message}`);
  }
}

const warn = (text: string): void => void process.stderr.write(`warning: ${text}\n`);
