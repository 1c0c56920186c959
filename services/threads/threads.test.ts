import test from 'ava';
import { within } from '@agent-workflow/protos/call';
import { openSqliteThreadStore } from './adapters/sqlite/store.ts';
import { createThreads } from './threads.ts';

const thread = { owner: 'u:ada', threadId: 't1' };

test('a thread made again within one tick of the clock shows its own state', async (t) => {
  await using store = openSqliteThreadStore({ path: ':memory:' });
  const threads = createThreads({ store, now: () => 1_790_000_000_000 });
  for (const turn of ['first', 'second']) {
    const accepted = await threads.acceptRun(
      {
        ...thread,
        runId: turn,
        requestId: 'q',
        messages: [],
        answers: [],
        hasNewInput: true,
        optionsJson: Buffer.from('{}'),
        multitaskStrategy: 'enqueue',
        granularity: 'low',
        claim: { workerId: 'w' },
      },
      within(5000),
    );
    await threads.commitStep(
      {
        ...thread,
        runId: turn,
        epoch: accepted.claimed?.epoch ?? 0,
        step: 0,
        at: 1_790_000_000_000,
        fields: { turn: Buffer.from(JSON.stringify(turn)) },
        messages: [],
        replacesMessages: false,
        removedFromContext: [],
        nodes: [],
        next: [],
        openCalls: [],
        openInterrupts: [],
        end: { status: 'completed', iterations: 1, recursionLimitReached: false },
      },
      within(5000),
    );
    const { fields } = await threads.getState(thread, within(5000));
    t.is(Buffer.from(fields['turn'] ?? []).toString(), JSON.stringify(turn));
    await threads.beginDelete(thread, within(5000));
    await threads.finishDelete(thread, within(5000));
  }
});
