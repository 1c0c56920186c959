import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ExecutionContext } from 'ava';
import type { Reply } from './providers/provider.ts';

/** What a request held. */
interface SentRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: {
    readonly stream?: boolean;
    readonly messages: readonly Readonly<Record<string, unknown>>[];
    readonly [name: string]: unknown;
  };
}

interface Replay {
  readonly baseUrl: string;
  readonly requests: readonly SentRequest[];
}

/** Serves these replies in their order on a free port of loopback until the test ends; the last one again and again. */
export async function startReplay(t: ExecutionContext, ...replies: readonly Reply[]): Promise<Replay> {
  const requests: SentRequest[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      const parts: Buffer[] = [];
      for await (const part of request) parts.push(part as Buffer);
      const body = JSON.parse(Buffer.concat(parts).toString()) as SentRequest['body'];
      const { url = '', headers } = request;
      const reply = replies[requests.push({ url, headers, body }) - 1] ?? replies.at(-1);
      response.writeHead(reply?.status ?? 200, { 'content-type': reply?.type ?? 'text/event-stream' });
      const bytes = Buffer.from(reply?.body ?? '');
      // Characters and events come in halves.
      const half = Math.floor(bytes.length / 2);
      response.write(bytes.subarray(0, half), () => response.end(bytes.subarray(half)));
    })();
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  t.teardown(async () => {
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  });
  return { baseUrl: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/v1`, requests };
}
