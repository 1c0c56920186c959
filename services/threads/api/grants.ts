import { stale } from '@agent-workflow/kit/errors';
import type { GrantCalls } from '@agent-workflow/protos/threads';
import type { ThreadReads } from '../ports/reads.ts';
import { keyOf } from './found.ts';

/** Says whether a claim is still the run's last. The grant itself is made where the call is served, which knows its caller. */
export const createGrantCalls = (store: ThreadReads): GrantCalls => ({
  renewGrant: async (request) => {
    const { runId, epoch } = request;
    const head = await store.getHead(keyOf(request));
    const isHeld = head?.activeRun === runId && head.activeStatus === 'running' && head.epoch === epoch;
    if (!isHeld || head.deleting) throw stale(`another worker has run "${runId}", or it has ended`);
    return {};
  },
});
