import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test from 'ava';
import { isServiceError } from '@agent-workflow/kit/errors';
import { openSqliteThreadStore } from '@agent-workflow/threads/adapters/sqlite/store';
import { createThreads } from '@agent-workflow/threads/threads';
import { within } from '@agent-workflow/protos/call';
import { connect } from '@agent-workflow/protos/wire/connect';
import { isLoopback } from '@agent-workflow/runtime/loopback';
import { serve } from '@agent-workflow/protos/wire/serve';
import { byLoad } from '../by-load.ts';
import { createClient, user } from '../servers/client.ts';
import { makeWorkspace, startStandalone } from '../servers/standalone.ts';

const health = fileURLToPath(new URL('../../deploy/health.js', import.meta.url));

/** Whether the health command of the image says that a process is ready. */
const isHealthy = (env: Readonly<Record<string, string>>): Promise<boolean> =>
  promisify(execFile)(process.execPath, [health], { env }).then(
    () => true,
    () => false,
  );

test('a single process serves at an address of IPv6, and prints it in brackets', async (t) => {
  await using workspace = await makeWorkspace('echo');
  await using service = await startStandalone({ ...workspace.env, HOST: '::1', METRICS_PORT: '0' });
  t.regex(service.url, /^http:\/\/\[::1\]:\d+$/);
  t.true(service.lines.some((line) => line.startsWith('metrics are at http://[::1]:')));
  const reply = await createClient(service.url).send('POST', '/v1/graph/invoke', { messages: [user('hello')] });
  t.is(reply.status, 200);
  t.true(await isHealthy({ HOST: '::1', PORT: new URL(service.url).port }));
});

test('at `::` it serves both families of addresses', async (t) => {
  await using workspace = await makeWorkspace('echo', { auth: 'jwt' });
  const secret = { JWT_SECRET_KEY: 'a secret that is long enough for the hash of 256 bits', JWT_ALGORITHM: 'HS256' };
  await using service = await startStandalone({ ...workspace.env, ...secret, HOST: '::', METRICS_HOST: '::1' });
  const { port } = new URL(service.url);
  for (const host of ['127.0.0.1', '[::1]']) {
    const { status } = await fetch(`http://${host}:${port}/healthz`);
    t.is(status, 200, host);
  }
  t.true(await isHealthy({ HOST: '::', PORT: port }));
});

for (const [host, target] of [
  ['::1', '[::1]'],
  ['::ffff:127.0.0.1', '127.0.0.1'],
  ['::', '127.0.0.1'],
  ['::', '[::1]'],
] as const)
  test(`a service of a cluster that listens at ${host} is called at ${target}, and so is its health`, async (t) => {
    await using store = openSqliteThreadStore({ path: ':memory:' });
    const threads = createThreads({ store });
    const options = { host, port: 0, healthPort: 0, drainMs: 100, onFailure: () => undefined };
    await using server = await serve({ threads }, options);
    t.is(server.address, `[${host}]:${String(server.port)}`);
    await using client = connect('threads', `${target}:${String(server.port)}`);
    const get = client.getThread({ owner: 'u:ada', threadId: 'absent' }, within(byLoad(5000)));
    t.true(isServiceError(await t.throwsAsync(get), 'NotFound'));
    t.true(await isHealthy({ GRPC_HOST: host, HEALTH_PORT: String(server.healthPort) }));
  });

test('a loopback address is known however it is written, and no other address is one', (t) => {
  for (const host of [
    '127.0.0.1',
    '127.9.9.9',
    '::1',
    '0:0:0:0:0:0:0:1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    'localhost',
  ])
    t.true(isLoopback(host), host);
  for (const host of ['0.0.0.0', '::', '::2', '::ffff:10.0.0.1', '128.0.0.1', '1127.0.0.1', 'localhost.example', ''])
    t.false(isLoopback(host), host);
});
