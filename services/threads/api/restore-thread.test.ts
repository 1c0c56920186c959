import { within } from '@agent-workflow/protos/call';
import test, { type ExecutionContext } from 'ava';
import { openSqliteThreadStore } from '../adapters/sqlite/store.ts';
import type { ThreadStore } from '../ports/store.ts';
import { createThreads } from '../threads.ts';

const owner = 'u:ada';
const key = { owner, threadId: 't1' };
const call = (): ReturnType<typeof within> => within(30_000);

const entry = (id: string) => ({
  messageId: id,
  json: Buffer.from(JSON.stringify({ message_id: id, role: 'user', content: [] })),
});

const run = (runId: string, parts: object = {}) => ({
  ...{ ...key, runId, requestId: 'q', messages: [entry(`m-${runId}`)], answers: [], hasNewInput: true },
  ...({ optionsJson: Buffer.from('{}'), multitaskStrategy: 'enqueue', granularity: 'low' } as const),
  ...parts,
});

/** Brings a thread of two messages back to its first, while it is renamed between the reading and the write. */
async function renamedMeanwhile(
  t: ExecutionContext,
  goBack: (threads: ReturnType<typeof createThreads>, checkpointId: string) => Promise<unknown>,
): Promise<void> {
  await using store = openSqliteThreadStore({ path: ':memory:' });
  const threads = createThreads({ store });
  await threads.acceptRun({ ...run('r1'), claim: { workerId: 'w1' }, threadName: 'old' }, call());
  await threads.endRun({ owner, runId: 'r1', status: 'stopped' }, call());
  const [first] = (await threads.listCheckpoints({ ...key, limit: 1, offset: 0 }, call())).checkpoints;
  await threads.addMessages({ ...key, messages: [entry('m2')] }, call());
  let renames = 0;
  const renaming: ThreadStore = {
    ...store,
    getFields: async (...read) => {
      const fields = await store.getFields(...read);
      renames += 1;
      const rename = { ...key, threadName: 'new', dropName: false, dropMetadata: false, dropTtl: false };
      await threads.updateThread(rename, call());
      return fields;
    },
  };
  await goBack(createThreads({ store: renaming }), first?.checkpointId ?? '');
  t.is(renames, 1);
  t.is((await threads.getThread(key, call())).threadName, 'new');
  const { messagesJson } = await threads.listMessages({ ...key, limit: 10, offset: 0 }, call());
  t.deepEqual(
    (JSON.parse(Buffer.from(messagesJson).toString()) as readonly { readonly message_id: string }[]).map(
      (each) => each.message_id,
    ),
    ['m-r1'],
  );
}

test('a thread that is renamed while it is brought back keeps its new name', async (t) => {
  await renamedMeanwhile(t, (threads, checkpointId) => threads.restoreThread({ ...key, checkpointId }, call()));
});

test('a thread that is renamed while a run starts from a checkpoint of it keeps its new name', async (t) => {
  await renamedMeanwhile(t, (threads, checkpointId) => threads.acceptRun(run('r2', { checkpointId }), call()));
});
