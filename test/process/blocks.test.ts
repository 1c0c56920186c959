import { sizes } from '@agent-workflow/kit/sizes';
import test from 'ava';
import { generousMs } from '../longest-block.ts';
import { createClient, user } from '../servers/client.ts';
import { openMemoryReports } from '../servers/memory.ts';
import { makeWorkspace, startStandalone } from '../servers/standalone.ts';
import { byLoad } from '../by-load.ts';

const env = { HOST: '127.0.0.1', LOG_LEVEL: 'warn' };

/** A run's end is no read: on record and in the event log it is one write of 12 MiB each. */
const endMs = 3 * generousMs;

test.serial('no read of large states and messages holds up the others for long', async (t) => {
  t.timeout(byLoad(120_000));
  await using workspace = await makeWorkspace('silent');
  await using reports = await openMemoryReports();
  await using service = await startStandalone({ ...workspace.env, ...env, ...reports.env });
  const { send } = createClient(service.url);
  const text = 'x'.repeat(sizes.body / 2 - 2000);
  const config = { thread_id: 'full' };
  const two = [user(text), user(text)];
  await send('POST', '/v1/graph/invoke', { messages: two, config, response_granularity: 'low' });
  await send('POST', '/v1/threads/full/messages', { messages: two });

  const pid = service.child.pid ?? 0;
  const reads = [
    ['a state of 8 MiB', async () => send('GET', '/v1/threads/full/state'), generousMs],
    ['a page of large messages', async () => send('GET', '/v1/threads/full/messages'), generousMs],
    ['messages that are searched', async () => send('GET', '/v1/threads/full/messages?search=nothing'), generousMs],
    ['a list of checkpoints', async () => send('GET', '/v1/threads/full/checkpoints'), generousMs],
    ['a run with 12 MiB of context', async () => send('POST', '/v1/graph/invoke', { messages: two, config }), endMs],
  ] as const;
  for (const [what, read, boundMs] of reads) {
    await reports.read(pid);
    const { status } = await read();
    t.is(status, 200, what);
    const { longestBlockMs } = await reports.read(pid);
    t.log(`${what}: ${longestBlockMs.toFixed(0)} ms at the longest`);
    t.true(longestBlockMs > 0);
    t.true(longestBlockMs <= boundMs, `${what}: ${longestBlockMs.toFixed(0)} ms`);
  }
});
