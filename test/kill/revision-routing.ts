import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { serviceToken, type Cluster } from '../servers/cluster.ts';
import { agentAt, makeWorkspace } from '../servers/standalone.ts';
import type { SturdyClient } from './clients.ts';
import type { BegunPhase } from './revision-check.ts';
import { agent, knownAfterMs, plan } from './revision-plan.ts';

const command = fileURLToPath(import.meta.resolve('@agent-workflow/command/main'));

/** Begins a phase: routes new runs as it says. */
export async function beginPhase(client: SturdyClient, cluster: Cluster, index: number): Promise<BegunPhase> {
  const phase = plan[index];
  if (!phase) throw new Error(`there is no phase ${index}`);
  await route(client, cluster, index);
  return { ...phase, knownAt: Date.now() + knownAfterMs };
}

/** The first phase of a revision registers it, as the deployment of its workers does; a ramp and what follows it are changes of the routing. */
async function route(client: SturdyClient, cluster: Cluster, index: number): Promise<void> {
  const { current, ramping } = plan[index] ?? { current: '' };
  if (!ramping && !plan[index - 1]?.ramping) return register(cluster, current, 'auto');
  if (ramping) await register(cluster, ramping.revision, 'none');
  const { body } = await client.send('GET', `/v1/agents/${agent}`);
  const { version } = (body.data as { routing: { version: number } }).routing;
  const reply = await client.send('PUT', `/v1/agents/${agent}/routing`, { version, current, ramping: ramping ?? null });
  if (reply.status !== 200) throw new Error(`the routing was answered ${reply.status} ${JSON.stringify(reply.body)}`);
}

async function register(cluster: Cluster, revision: string, routing: 'auto' | 'none'): Promise<void> {
  await using workspace = await makeWorkspace(null, { agent: undefined, agents: { [agent]: agentAt(agent) } });
  const [threads] = cluster.threads;
  const env = { ...process.env, ...workspace.env, THREADS_ADDRESS: threads?.address, SERVICE_TOKEN: serviceToken };
  await promisify(execFile)(process.execPath, [command, 'agents', 'register', '--routing', routing], {
    env: { ...env, AGENT_REVISION: revision },
  });
}
