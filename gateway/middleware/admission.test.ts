import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import test from 'ava';
import { createAdmission } from './admission.ts';
import type { Context } from '../http/context.ts';

const bytes = 16 * 1024 * 1024;

test('a caller that takes nothing of a large reply for long is let go of, and what it held is free', async (t) => {
  const admission = createAdmission({ limit: bytes, maxBody: 1, callerOf: () => 'ada', stalledMs: 100 });
  const server = createServer((req, res) => {
    admission.reply({ req, res } as unknown as Context, bytes, true);
    res.end(Buffer.alloc(bytes));
  });
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const reader = connect(port, '127.0.0.1');
  reader.on('error', () => undefined);
  reader.pause().write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
  const [, res] = (await once(server, 'request')) as [unknown, ServerResponse];
  t.timeout(20_000, 'the reply is held');
  await once(res, 'close');
  t.false(res.writableFinished);
  reader.destroy();

  const reply = await fetch(`http://127.0.0.1:${String(port)}/`);
  t.is((await reply.arrayBuffer()).byteLength, bytes);
});
