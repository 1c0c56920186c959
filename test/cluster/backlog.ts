import { registerFrom } from '@agent-workflow/execution/register';
import { createClient } from '../servers/client.ts';
import { serviceToken, type Cluster, type ClusterOptions } from '../servers/cluster.ts';
import { agentAt, makeWorkspace } from '../servers/standalone.ts';

export const revision = 'v1';
const agents = { support: agentAt('held'), billing: agentAt('held') };

interface Backlog {
  readonly backlog: number;
  readonly slots: number;
}

/**
 * A cluster with two agents, in which only `support` has a worker, with so many slots: runs of `billing` wait, and there may be twice as
 * many as `backlog`.
 */
export const besideBacklog = ({ backlog, slots }: Backlog): ClusterOptions => ({
  agent: null,
  ...{ gateways: 1, threads: 1, executions: 2 },
  service: { agent: null, default_agent: 'support' },
  workers: [
    {
      service: { agent: undefined, agents: { support: agents.support } },
      env: { RUN_CONCURRENCY: String(slots) },
    },
  ],
  env: {
    ...{ RATE_LIMIT_REQUESTS: '0', AGENT_REVISION: revision },
    ...{ RUN_BACKLOG: String(2 * backlog), AGENT_BACKLOG: String(2 * backlog) },
  },
});

/** Registers both agents, which then get new runs. */
export async function registerBoth({ threads }: Pick<Cluster, 'threads'>): Promise<void> {
  await using workspace = await makeWorkspace(null, { agent: undefined, agents });
  const { SERVICE_CONFIG = '' } = workspace.env;
  const place = { THREADS_ADDRESS: threads[0]?.address ?? '', SERVICE_TOKEN: serviceToken };
  await registerFrom({ ...place, SERVICE_CONFIG, AGENT_REVISION: revision }, 'auto');
}

/** Whether the agent without a worker is known at the gateway. */
export const knowsBilling = async ({ urls }: Pick<Cluster, 'urls'>): Promise<boolean> =>
  (await createClient(urls[0] ?? '').send('GET', '/v1/graph?agent=billing')).status === 200;
