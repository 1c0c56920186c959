import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { processEnv } from '@agent-workflow/kit/env';
import { startProcess, type ServiceProcess } from './process.ts';

/** The service as a process of its own: what a user starts. */
export interface StandaloneProcess extends Omit<ServiceProcess, 'listensOn'> {
  readonly url: string;
}

const main = fileURLToPath(import.meta.resolve('@agent-workflow/standalone/main'));

/**
 * Starts the service and waits until it says where it listens. An `entry` of the tests' own can be talked to.
 * @throws Error with what it printed when it ends instead.
 */
export async function startStandalone(
  env: Readonly<Record<string, string>>,
  entry = main,
  through: readonly string[] = [],
): Promise<StandaloneProcess> {
  const options = { entry, env: { PORT: '0', ...env }, talks: entry !== main, through };
  const { listensOn, ...started } = await startProcess(options);
  return { ...started, url: listensOn };
}

/** A folder that holds a `service.json` and data, removed with the test. */
export interface Workspace extends AsyncDisposable {
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
}

const thisVersion = fileURLToPath(new URL('../..', import.meta.url));

/** A file of `test/agents`, without its ending, as `service.json` names it from anywhere. */
export const agentAt = (agent: string, root = thisVersion): string =>
  `${join(root, 'test', 'agents', `${agent}.ts`)}:graph`;

/** The ways in which a run of a suite may have the agents of its tests: see {@link agentsAre}. */
const ways = ['unnamed', 'default', 'named'] as const;

/**
 * How this run of a suite has the agent of each test (`AGENTS`): `unnamed`, alone and without a name; `default`, as the default of two
 * agents; `named`, as one of two agents that the requests of the test client name.
 */
export const agentsAre = readAgentsAre(processEnv()['AGENTS'] ?? 'unnamed');

function readAgentsAre(given: string): (typeof ways)[number] {
  const way = ways.find((name) => name === given);
  if (way === undefined) throw new Error(`AGENTS must be one of ${ways.join(', ')}, not ${given}`);
  return way;
}

/** The name under which callers know the agent of a test. */
export const testedAgent = agentsAre === 'unnamed' ? 'default' : 'tested';

const withAgents = (tested: string, other: string): Readonly<Record<string, unknown>> =>
  agentsAre === 'unnamed'
    ? { agent: tested }
    : { agents: { other, [testedAgent]: tested }, default_agent: testedAgent };

/** What `service.json` says: `agent` is a file of `test/agents`, without its ending; agents that `service` has replace it. */
export function serviceOf(
  agent: string | null,
  service: Readonly<Record<string, unknown>> = {},
  root = thisVersion,
): Readonly<Record<string, unknown>> {
  const held = agent === null ? { agent } : withAgents(agentAt(agent, root), agentAt('clerk', root));
  const isGiven = 'agents' in service || 'agent' in service;
  return { ...(isGiven ? {} : held), ...service };
}

/** Makes the folder, with what {@link serviceOf} gives. */
export async function makeWorkspace(
  agent: string | null,
  service: Readonly<Record<string, unknown>> = {},
  root = thisVersion,
): Promise<Workspace> {
  const folder = await mkdtemp(join(tmpdir(), 'agent-workflow-'));
  const config = join(folder, 'service.json');
  await writeFile(config, JSON.stringify(serviceOf(agent, service, root)));
  return {
    folder,
    env: { SERVICE_CONFIG: config, DATA_DIR: join(folder, 'data') },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}
