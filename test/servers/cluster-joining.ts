import { fileURLToPath } from 'node:url';
import type { Cluster } from './cluster.ts';

/** What can be tried at once: a share of the new runs of an agent for another revision of it. */
export interface Ramp {
  readonly agent: string;
  readonly current: string;
  readonly ramping: string;
}

interface Joining extends Pick<Cluster, 'env' | 'urls'> {
  readonly ramp: Ramp;
  /** A revision that no pool of the cluster has. */
  readonly revision: string;
}

/** What the registration of agents reads of a cluster, and what a worker does. */
const registering = ['SERVICE_TOKEN', 'THREADS_ADDRESS'];
const working = [...registering, 'MEMORY_ADDRESS', 'NATS_URL', 'NATS_PREFIX'];

/** The commands with which a worker of one's own joins a cluster, and those which route runs to it, ready for a shell. */
export function toJoiningText({ env, urls: [url = ''], ramp, revision }: Joining): string {
  const { agent, current, ramping } = ramp;
  const valuesOf = (names: readonly string[]): string =>
    names.map((name) => `${name}=${quoted(env[name] ?? '')}`).join(' ');
  // The version of a routing that has been set once.
  const routing = { version: 1, current, ramping: { revision: ramping, percent: 50 } };
  return `
A worker of your own joins from a folder with a service.json that names its agents ("agents": {"mine": "./agent.ts:graph"}). Register them, then start it:

  env ${valuesOf(registering)} AGENT_REVISION=${revision} ${command} agents register
  env ${valuesOf(working)} GRPC_HOST=127.0.0.1 GRPC_PORT=0 AGENT_REVISION=${revision} ${command} worker

"agents register --routing none" leaves new runs where they are. In a project with the package, "npx agent-workflow" is the same command.
Half of the threads of "${agent}" for its revision ${ramping}, in either way:

  curl -s -X PUT ${url}/v1/agents/${agent}/routing -H 'content-type: application/json' -d '${JSON.stringify(routing)}'
  ${command} agents route ${agent} --ramp ${ramping}=50 --url ${url}

`;
}

/** As one word of a shell. */
const quoted = (text: string): string =>
  /^[\w.,:/@%+=-]*$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;

const command = [process.execPath, fileURLToPath(import.meta.resolve('@agent-workflow/command/main'))]
  .map(quoted)
  .join(' ');
