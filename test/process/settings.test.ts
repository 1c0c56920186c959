import test from 'ava';
import { makeWorkspace, startStandalone } from '../servers/standalone.ts';

test('a start warns of variables that look like settings and have no effect, in one line and without their values', async (t) => {
  await using workspace = await makeWorkspace('obedient');
  const unread = { LEASE_MSS: '9000', THREAD_STORE: 'postgres', POSTGRES_PASSWORD: 'not-to-be-logged' };
  await using service = await startStandalone({ ...workspace.env, ...unread, HOST: '127.0.0.1', LEASE_MS: '7000' });
  t.is(await service.stop('SIGTERM'), 0);
  const lines = service.lines.filter((line) => line.includes('without effect'));
  t.is(lines.length, 1);
  const { level, variables } = JSON.parse(lines[0] ?? '') as { level: number; variables: unknown };
  t.is(level, 40);
  t.deepEqual(variables, [
    'LEASE_MSS: no such setting; LEASE_MS is one',
    'THREAD_STORE: only threads reads it, and this process is standalone',
    'POSTGRES_PASSWORD: only threads reads it, and this process is standalone',
  ]);
  t.false(service.lines.some((line) => line.includes('not-to-be-logged')));
});

test('a start without such variables warns of nothing', async (t) => {
  await using workspace = await makeWorkspace('obedient');
  await using service = await startStandalone({ ...workspace.env, HOST: '127.0.0.1' });
  t.is(await service.stop('SIGTERM'), 0);
  t.true(service.lines.some((line) => line.includes('"configured"')));
  t.deepEqual(
    service.lines.filter((line) => line.includes('without effect')),
    [],
  );
});
