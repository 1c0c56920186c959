import test from 'ava';
import { createClient, readChunks, user } from '../servers/client.ts';
import { makeWorkspace, startStandalone } from '../servers/standalone.ts';
import { replyText, serve } from './service.ts';
import { embeddedOnly } from './shape.ts';

const service = serve(test, 'sleeping');

interface Run {
  readonly run_id: string;
  readonly thread_id: string;
  readonly status: string;
  readonly wake_at?: string;
}

interface Result {
  readonly messages: readonly { readonly content: readonly { readonly text?: string }[] }[];
  readonly meta: { readonly run_id: string; readonly status: string };
  readonly iterations: number;
}

const hour = 3_600_000;
/** On a busy machine. What finds lost runs, every 30 s, would be later. */
const mostLate = 15_000;

const start = async (thread: string, ms: number, config: object = {}): Promise<Run> =>
  (await service.send('POST', '/v1/runs', { messages: [user(String(ms))], config: { thread_id: thread, ...config } }))
    .body.data;

/** Resolves with when it wakes as soon as a follower is told that the run sleeps. */
async function untilAsleep(runId: string): Promise<string> {
  for await (const { data } of readChunks(await fetch(`${service.url()}/v1/runs/${runId}/stream`))) {
    const { status, wake_at: wakeAt } = data as { readonly status?: string; readonly wake_at?: string };
    if (status === 'sleeping' && wakeAt !== undefined) return wakeAt;
  }
  throw new Error('the run did not sleep');
}

test('a run that sleeps says until when, and goes on when it has come', async (t) => {
  const began = Date.now();
  const { run_id: runId } = await start('naps', 1000);
  const wakeAt = Date.parse(await untilAsleep(runId));
  const result = (await service.data(t, 'waitForRun', service.send('GET', `/v1/runs/${runId}/wait`))) as Result;
  t.like(result, { iterations: 1, meta: { status: 'completed' } });
  t.deepEqual(result.messages.map(replyText), ['awake']);
  const took = Date.now() - began;
  t.true(took >= 1000, `it took ${String(took)} ms`);
  const late = Date.now() - wakeAt;
  t.log(`${String(late)} ms late`);
  // Half a second on a machine that does nothing else.
  t.true(late < mostLate, `it woke ${String(late)} ms late`);
});

test('a sleeping run is shown with its time, holds its thread, and is stopped with a receipt', async (t) => {
  const { run_id: runId } = await start('held', hour);
  const wakeAt = await untilAsleep(runId);
  const run = (await service.data(t, 'getRun', service.send('GET', `/v1/runs/${runId}`))) as Run;
  t.like(run, { status: 'sleeping', wake_at: wakeAt });
  t.true(Math.abs(Date.parse(wakeAt) - Date.now() - hour) < 60_000);
  const config = { thread_id: 'held', multitask_strategy: 'reject' };
  await service.refused(t, service.send('POST', '/v1/runs', { messages: [user('1')], config }), 409, 'CONFLICT');
  const queued = await start('held', 0);
  t.is(queued.status, 'queued');
  const stopped = await service.send('POST', '/v1/graph/stop', { thread_id: 'held' });
  t.like(stopped.body.data, { success: true, run_id: runId });
  t.is(((await service.send('GET', `/v1/runs/${runId}`)).body.data as Run).status, 'stopped');
  const next = (await service.send('GET', `/v1/runs/${queued.run_id}/wait`)).body.data as Result;
  t.is(next.meta.status, 'completed');
});

embeddedOnly(test, 'a run sleeps over the death of the process, and goes on after the next start', async (t) => {
  await using workspace = await makeWorkspace('sleeping');
  const before = await startStandalone(workspace.env);
  const accepted = await createClient(before.url).send('POST', '/v1/runs', { messages: [user('1500')] });
  const { run_id: runId } = accepted.body.data as Run;
  let wakeAt: string | undefined;
  while (wakeAt === undefined)
    wakeAt = ((await createClient(before.url).send('GET', `/v1/runs/${runId}`)).body.data as Run).wake_at;
  await before.stop('SIGKILL');
  while (Date.now() < Date.parse(wakeAt)) await new Promise((resolve) => setImmediate(resolve));
  await using after = await startStandalone(workspace.env);
  const ready = Date.now();
  const result = (await createClient(after.url).send('GET', `/v1/runs/${runId}/wait`)).body.data as Result;
  t.is(result.meta.status, 'completed');
  const late = Date.now() - ready;
  t.log(`${String(late)} ms after the start`);
  t.true(late < mostLate, `it woke ${String(late)} ms after the start`);
});
