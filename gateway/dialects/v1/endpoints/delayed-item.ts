import type { Call } from '@agent-workflow/protos/call';
import { findDelayed, refusalOf, slotOf, startOf, type RunKey } from '../../common/delayed-runs.ts';
import { agentOf } from '../../common/named-agent.ts';
import type { Services } from '../../common/services.ts';
import { wireCodeOf } from '../replies/errors.ts';

/** A run that starts later, or that could not be started, as replies show it; `undefined`: there is none. */
export async function delayedItem(
  { threads, execution }: Pick<Services, 'threads' | 'execution'>,
  key: RunKey,
  call: Call,
): Promise<object | undefined> {
  const found = await findDelayed(threads, key, call);
  if (!found) return undefined;
  const { resource, schedule } = found;
  const named = agentOf(schedule.run['config'] ?? {}).agent;
  const agent = named ?? (await execution.listAgents({}, call)).agents.find(({ isDefault }) => isDefault)?.name;
  const refused = refusalOf(schedule);
  return {
    run_id: key.runId,
    thread_id: slotOf(key.runId, schedule).threadId,
    thread_title: null,
    agent,
    status: refused ? 'failed' : 'scheduled',
    created_at: new Date(resource.createdAt).toISOString(),
    updated_at: new Date(resource.updatedAt).toISOString(),
    start_at: new Date(startOf(schedule)).toISOString(),
    ...(refused && { error: { code: wireCodeOf(refused.code ?? 'Conflict'), message: refused.reason } }),
  };
}
