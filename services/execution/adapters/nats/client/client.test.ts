import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import test from 'ava';
import { isServiceError } from '@agent-workflow/kit/errors';
import { createLog } from '@agent-workflow/kit/log';
import { isNotReady, openNatsClient } from './client.ts';

const silentLog = createLog('test', 'silent');

const info = JSON.stringify({ server_id: 's', version: '2.12.7', proto: 1, headers: true, max_payload: 1_048_576 });

/** A server that accepts each connection and then answers nothing. */
async function openMute(): Promise<AsyncDisposable & { readonly url: string; readonly cut: () => void }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.write(`INFO ${info}\r\n`);
    let isGreeted = false;
    socket.on('data', (data) => {
      if (!isGreeted && data.includes('PING')) socket.write('PONG\r\n');
      isGreeted = true;
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  return {
    url: `nats://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    cut,
    [Symbol.asyncDispose]: async () => {
      server.close();
      cut();
      await once(server, 'close');
    },
  };
}

test('a request under way when the connection is lost is Unavailable, and a start that waits for NATS continues', async (t) => {
  await using server = await openMute();
  await using client = await openNatsClient({ url: server.url, name: 'test', log: silentLog });
  const flushing = t.throwsAsync(client.flush(60_000));
  const asking = t.throwsAsync(client.connection.flush());
  server.cut();
  t.true(isServiceError(await flushing, 'Unavailable'));
  t.true(isNotReady(await asking), 'the error of the library itself');
});

test('a lost connection is reported, and so is the next one', async (t) => {
  await using server = await openMute();
  const reports: string[] = [];
  const again = Promise.withResolvers<undefined>();
  const health = {
    fails: (reason: string) => reports.push(reason),
    works: () => {
      reports.push('works');
      if (reports.length === 3) again.resolve(undefined);
    },
  };
  await using _client = await openNatsClient({ url: server.url, name: 'test', log: silentLog, health });
  t.deepEqual(reports, ['works']);
  server.cut();
  await again.promise;
  t.deepEqual(reports, ['works', 'it is unavailable', 'works']);
});
