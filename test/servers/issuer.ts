import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** A server that publishes a key set at `/keys.json`, and writes down whatever is asked of it. */
export interface Issuer extends AsyncDisposable {
  readonly url: string;
  /** Where the keys are. */
  readonly keysUrl: string;
  /** `GET /path` of every request so far. */
  readonly requests: readonly string[];
  /** Answers with these keys from now on. */
  readonly publish: (...keys: readonly unknown[]) => void;
  /** Answers in this way from now on. */
  readonly answer: (handler: Handler) => void;
}

export async function openIssuer(...keys: readonly unknown[]): Promise<Issuer> {
  const requests: string[] = [];
  const publishing =
    (published: readonly unknown[]): Handler =>
    (_, response) =>
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ keys: published }));
  let handler = publishing(keys);
  const server = createServer((request, response) => {
    requests.push(`${String(request.method)} ${String(request.url)}`);
    handler(request, response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    keysUrl: `${url}/keys.json`,
    requests,
    publish: (...published) => {
      handler = publishing(published);
    },
    answer: (given) => {
      handler = given;
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Answers that the server is unavailable. */
export const away: Handler = (_, response) => response.writeHead(503).end();
