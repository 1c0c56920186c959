import test from 'ava';
import { byLoad } from '../by-load.ts';
import { retryUnderKills } from '../kill/retry-kills.ts';
import { sendingTo } from '../servers/client.ts';
import { agentAt, makeWorkspace, startStandalone } from '../servers/standalone.ts';

test('a run of ten dear steps that failed in its eighth, and is tried again while the process is killed, pays nothing again', async (t) => {
  t.timeout(byLoad(120_000));
  await using workspace = await makeWorkspace(null, { agents: { dear: agentAt('dear') }, default_agent: 'dear' });
  let service = await startStandalone(workspace.env);
  const send = sendingTo(() => service.url);
  try {
    await retryUnderKills(t, {
      send,
      kill: async () => {
        await service.stop('SIGKILL');
        service = await startStandalone(workspace.env);
      },
    });
  } finally {
    await service[Symbol.asyncDispose]();
  }
});
