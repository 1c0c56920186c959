import type { TestFn } from 'ava';
import type { Threads } from '@agent-workflow/protos/threads';
import { readOutboxEntry, type OutboxEntry, type WebhookTarget } from '@agent-workflow/protos/webhooks';
import {
  accept,
  acceptAndClaim,
  bytes,
  call,
  claim,
  commit,
  completed,
  finishedTurn,
  interrupted,
  owner,
  refused,
  thread1,
} from './thread-calls.ts';
import { checkOn, type OpenThreads } from './thread-stores/threads-open.ts';

const webhook: WebhookTarget = { url: 'https://example.com/hook' };
const hooked = { webhookJson: JSON.stringify(webhook) };

const entryOf = async (threads: Threads, id: string): Promise<OutboxEntry> =>
  readOutboxEntry((await threads.getResource({ kind: 'outbox', owner, id }, call())).json);

const dueIn = async (threads: Threads): Promise<readonly string[]> =>
  (await threads.listDueResources({ kind: 'outbox', limit: 100 }, call())).due.map(({ id }) => id).toSorted();

/** What the record says to the outbox when runs end. */
export function threadsOutboxContract(test: TestFn, name: string, open: OpenThreads): void {
  const check = checkOn(test, name, open);

  check('the commit that ends a run with a webhook makes an entry of the outbox, which is due', async (t, threads) => {
    await accept(threads, 'r1', hooked);
    const { epoch } = await claim(threads, 'r1');
    await commit(threads, 'r1', epoch, {});
    t.deepEqual(await dueIn(threads), []);
    await commit(threads, 'r1', epoch, { step: 1, end: interrupted });
    t.deepEqual(await entryOf(threads, 'r1'), { threadId: 't1', webhook });
    t.deepEqual(await dueIn(threads), ['r1']);
  });

  check('runs without a webhook make none, until their owner has one', async (t, threads) => {
    await finishedTurn(threads, 'r1');
    t.deepEqual(await dueIn(threads), []);
    await threads.putResource({ kind: 'webhook', owner, id: 'w1', version: 1, json: bytes('{}') }, call());
    await finishedTurn(threads, 'r2');
    await finishedTurn(threads, 'r3', { owner: 'u:bob' }).catch(() => undefined);
    t.deepEqual(await dueIn(threads), ['r2']);
    t.deepEqual(await entryOf(threads, 'r2'), { threadId: 't1' });
  });

  check('a stop makes one, of the run that holds the thread and of one that waits', async (t, threads) => {
    await accept(threads, 'r1', hooked);
    await claim(threads, 'r1');
    await accept(threads, 'r2', hooked);
    for (const runId of ['r2', 'r1']) await threads.endRun({ owner, runId, status: 'stopped' }, call());
    await threads.endRun({ owner, runId: 'r1', status: 'stopped' }, call());
    t.deepEqual(await dueIn(threads), ['r1', 'r2']);
  });

  check('a run that another replaces makes one', async (t, threads) => {
    for (const [index, multitaskStrategy] of (['interrupt', 'rollback'] as const).entries()) {
      const threadId = `t${String(index)}`;
      const runId = `r${String(index)}`;
      await accept(threads, runId, { threadId, ...hooked });
      await claim(threads, runId, { threadId });
      await accept(threads, `next${runId}`, { threadId, multitaskStrategy });
    }
    t.deepEqual(await dueIn(threads), ['r0', 'r1']);
  });

  check('a run that is given up at its third claim makes one', async (t, threads) => {
    await accept(threads, 'r1', hooked);
    let { epoch } = await claim(threads, 'r1');
    for (let times = 0; times < 3; times++) ({ epoch } = await claim(threads, 'r1', { takeoverEpoch: epoch }));
    t.deepEqual(await dueIn(threads), ['r1']);
  });

  check('a thread that is deleted tells nobody that its run was stopped', async (t, threads) => {
    await accept(threads, 'r1', hooked);
    await claim(threads, 'r1');
    await threads.beginDelete(thread1, call());
    t.deepEqual(await dueIn(threads), []);
  });

  check('an end that is refused makes none that outlives it', async (t, threads) => {
    const { epoch } = await acceptAndClaim(threads, 'r1');
    await refused(t, commit(threads, 'r1', epoch + 1, { end: completed }), 'Stale');
    t.deepEqual(await dueIn(threads), []);
  });
}
