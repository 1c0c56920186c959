import { fileURLToPath } from 'node:url';
import { agentAt } from '../servers/standalone.ts';
import type { Client } from '../servers/client.ts';
import { approvalAccess, startApprovalLoad } from './approval-load.ts';
import { startAskingLoad } from './asking-load.ts';
import { startDeadlineLoad } from './deadline-load.ts';
import { startDearLoad } from './dear-load.ts';
import type { LoadFindings } from './load.ts';
import { generator } from './random.ts';
import { startScheduleLoad } from './schedule-load.ts';
import { startWebhookLoad } from './webhook-load.ts';

/** Who does not say who they are is one owner. */
const backend = fileURLToPath(new URL('../backends/roles.ts', import.meta.url));

/** What `service.json` says in a campaign: the agent whose runs are followed closely, and those of the mix. */
export const mixService = (agent: string): Readonly<Record<string, unknown>> => ({
  agents: {
    steps: agent,
    asking: agentAt('asking-beside'),
    dear: agentAt('dear'),
    deadlines: agentAt('deadlines'),
    echo: agentAt('echo'),
    approvals: agentAt('asking-others'),
  },
  default_agent: 'steps',
  auth: { method: 'custom', path: `${backend}:Named` },
  access: approvalAccess,
});

/** Receivers of webhooks are on this machine, and nobody asks too often. */
export const mixEnv = { WEBHOOK_NETWORKS: '127.0.0.0/8', RATE_LIMIT_REQUESTS: '0', OPEN_QUESTIONS: '10000' };

const loads = [
  startAskingLoad,
  startDearLoad,
  startDeadlineLoad,
  startScheduleLoad,
  startWebhookLoad,
  startApprovalLoad,
];

interface Mix {
  /** Resolves with what each part has seen, once its errands have ended. */
  readonly stop: () => Promise<readonly LoadFindings[]>;
}

/** Does all that goes on beside the runs of a campaign. Each part has its own numbers, so that the seed decides the kills whichever is first. */
export async function startMix(send: Client['send'], seed: number): Promise<Mix> {
  const started = await Promise.all(
    loads.map(async (start, index) => start({ send, random: generator(seed + 1 + index) })),
  );
  return { stop: () => Promise.all(started.map((load) => load.stop())) };
}
