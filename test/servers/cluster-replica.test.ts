import { fileURLToPath } from 'node:url';
import test from 'ava';
import { toEndLine } from './cluster-log.ts';
import { createReplica, type ReplicaEnd } from './cluster-replica.ts';

test('a process that is killed from outside is said to have ended, with its id and the signal, and is not started again', async (t) => {
  const ended = Promise.withResolvers<ReplicaEnd>();
  await using replica = createReplica({
    name: 'threads 1',
    address: '127.0.0.1:0',
    entry: fileURLToPath(import.meta.resolve('@agent-workflow/standalone/main')),
    env: { DATA_DIR: ':memory:', HOST: '127.0.0.1', PORT: '0', LOG_LEVEL: 'silent' },
    onEnd: ended.resolve,
  });
  await replica.start();
  const pid = replica.pid();
  process.kill(pid, 'SIGKILL');
  const end = await ended.promise;
  t.deepEqual(end, { name: 'threads 1', pid, code: null, signal: 'SIGKILL' });
  t.is(toEndLine(end), `threads 1 (process ${pid}) ended, by SIGKILL; nothing starts it again`);
  t.is(
    toEndLine({ ...end, code: 1, signal: null }),
    `threads 1 (process ${pid}) ended, with code 1; nothing starts it again`,
  );
  t.false(replica.isRunning());
});
