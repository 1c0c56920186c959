import test from 'ava';
import type { CommitStepRequest } from '@agent-workflow/protos/threads';
import { aheadOf, earlier } from './worker-clock.ts';

const now = 1_790_000_000_000;
const minute = 60_000;

const step = { messages: [], nodes: [], next: [], openCalls: [] };
const sent = (times: Pick<CommitStepRequest, 'at'> & Partial<CommitStepRequest>): CommitStepRequest => ({
  ...{ owner: 'u:ada', threadId: 't1', runId: 'r1', epoch: 1, step: 0, fields: {}, openInterrupts: [] },
  ...{ ...step, replacesMessages: false, removedFromContext: [] },
  ...times,
});
const workAt = (startedAt: number) => ({ startedAt, attempt: 1, retries: 0, inputTokens: 0, outputTokens: 0 });

test('a commit of a second ahead, or of a time that has passed, is left as it is', (t) => {
  for (const at of [0, now - minute, now, now + 1000]) {
    const request = sent({ at, wakeAt: at + minute });
    t.is(aheadOf(request, now), 0);
    t.is(earlier(request, 0), request);
  }
});

test('all times of a commit that is ahead are moved by the same time, and no other is before 1970', (t) => {
  const [at, later] = [now + 10 * minute, now + 10 * minute + 5];
  const fused = { ...step, at: later, work: workAt(at) };
  const request = sent({ at, work: workAt(at - 70), wakeAt: at + 3000, fused });
  const aheadMs = aheadOf(request, now);
  t.is(aheadMs, later - now);
  const moved = earlier(request, aheadMs);
  t.like(moved, { at: now - 5, wakeAt: now + 2995, fused: { at: now }, step: 0 });
  t.deepEqual([moved.work?.startedAt, moved.fused?.work?.startedAt], [now - 75, now - 5]);
  t.like(earlier(sent({ at: 3, wakeAt: 4 }), minute), { at: 0, wakeAt: 0 });
});
