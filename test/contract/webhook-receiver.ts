import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One request that a receiver of webhooks got. */
export interface Received {
  readonly id: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

interface Receiver extends AsyncDisposable {
  readonly url: string;
  readonly got: readonly Received[];
}

/** Receives webhooks on loopback, and answers each as it is told; 204 unless told otherwise. */
export async function openReceiver(
  answer: (received: Received, response: ServerResponse) => void = (_, response) => void response.writeHead(204).end(),
  host = '127.0.0.1',
  port = 0,
): Promise<Receiver> {
  const got: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { headers } = request;
      const received = { id: String(headers['webhook-id']), headers, body: Buffer.concat(chunks).toString('utf8') };
      got.push(received);
      answer(received, response);
    });
    request.on('error', () => undefined);
  });
  server.listen(port, host);
  await once(server, 'listening');
  return {
    url: `http://${host}:${String((server.address() as AddressInfo).port)}/hook`,
    got,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
