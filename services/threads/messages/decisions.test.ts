import test from 'ava';
import { within } from '@agent-workflow/protos/call';
import { openSqliteThreadStore } from '../adapters/sqlite/store.ts';
import type { ThreadStore } from '../ports/store.ts';
import { createThreads } from '../threads.ts';

const thread = { owner: 'u:ada', threadId: 't1' };
const toEntry = (messageId: string, role: string, block: object): { messageId: string; json: Uint8Array } => ({
  messageId,
  json: Buffer.from(JSON.stringify({ message_id: messageId, role, content: [block] })),
});

test('a call that is answered while the thread is searched stays, with its answer', async (t) => {
  await using store = openSqliteThreadStore({ path: ':memory:' });
  const threads = createThreads({ store });
  const calls = toEntry('m1', 'assistant', { type: 'tool_call', id: 'c1', name: 'look_up', args: {} });
  const answer = toEntry('m2', 'tool', { type: 'tool_result', call_id: 'c1', output: 'found' });
  const { claimed } = await threads.acceptRun(
    {
      ...thread,
      runId: 'r1',
      requestId: 'q',
      messages: [calls],
      answers: [],
      hasNewInput: true,
      optionsJson: Buffer.from('{}'),
      multitaskStrategy: 'enqueue',
      granularity: 'low',
      claim: { workerId: 'w1' },
    },
    within(5000),
  );
  await threads.commitStep(
    {
      ...thread,
      runId: 'r1',
      epoch: claimed?.epoch ?? 0,
      step: 0,
      at: Date.now(),
      nodes: ['a'],
      next: [],
      fields: {},
      messages: [],
      replacesMessages: false,
      removedFromContext: [],
      openCalls: [],
      openInterrupts: [],
      end: { status: 'completed', iterations: 1, recursionLimitReached: false },
    },
    within(5000),
  );
  let reads = 0;
  const watched: ThreadStore = {
    ...store,
    listContext: async (key, page) => {
      const found = await store.listContext(key, page);
      reads += 1;
      if (reads === 1) await threads.addMessages({ ...thread, messages: [answer] }, within(5000));
      return found;
    },
  };
  const { removedCount } = await createThreads({ store: watched }).fixThread(thread, within(5000));
  t.is(removedCount, 0);
  t.is(reads, 2);
  for (const messageId of ['m1', 'm2']) t.truthy(await threads.getMessage({ ...thread, messageId }, within(5000)));
});
