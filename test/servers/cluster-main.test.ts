import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { runToEnd } from './process.ts';

test('a cluster to play with whose port is taken is refused with one line before a server is started', async (t) => {
  const taken = createServer();
  await once(taken.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => taken.close());
  const port = String((taken.address() as AddressInfo).port);
  const entry = fileURLToPath(new URL('./cluster-main.ts', import.meta.url));
  t.deepEqual(await runToEnd({ entry, env: {}, words: ['--gateways', '1', '--port', port] }), {
    code: 1,
    output: `127.0.0.1:${port} cannot be listened at: another process listens there; --port gives another\n`,
  });
});
