import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { createClient, user } from '../servers/client.ts';
import { makeWorkspace, startStandalone } from '../servers/standalone.ts';
import { until } from '../until.ts';

test('once the data folder is removed nothing more is accepted, reads go on, and the readiness says why', async (t) => {
  await using workspace = await makeWorkspace('echo');
  await using service = await startStandalone(workspace.env);
  const { send } = createClient(service.url);
  const turn = { messages: [user('hello')], config: { thread_id: 'kept' } };
  t.is((await send('POST', '/v1/graph/invoke', turn)).status, 200);
  await rm(join(workspace.folder, 'data'), { recursive: true });
  const degraded = async (): Promise<readonly string[]> => {
    const { status, body } = await send('GET', '/readyz');
    t.is(status, 200);
    const parts = (body.data as { readonly degraded: readonly { readonly name: string; readonly reason: string }[] })
      .degraded;
    return parts.map(({ name, reason }) => `${name}: ${reason}`).toSorted();
  };
  await until(async () => (await degraded()).length === 3);
  t.deepEqual(
    await degraded(),
    ['events', 'memory', 'record'].map((name) => `${name}: it cannot be written: the file or its folder was removed`),
  );
  const memory = { content: 'The harbour opens at six', memory_type: 'semantic', category: 'facts' };
  for (const [path, body] of [
    ['/v1/runs', turn],
    ['/v1/threads/kept/messages', { messages: [user('more')] }],
    ['/v1/store/memories', memory],
  ] as const) {
    const { status, headers } = await send('POST', path, body);
    t.is(status, 503, path);
    t.true(Number(headers.get('retry-after')) >= 1);
  }
  t.is((await send('GET', '/v1/threads/kept')).status, 200);
});
