import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hideInherited } from './built-ins.ts';
import type { Degraded } from './health.ts';
import { httpUrl } from '@agent-workflow/kit/host-port';
import type { Registry } from './metrics.ts';

// To import it reads all its exports, and one of them loads a client of HTTP that takes 30 ms of a start.
const { createServer } = process.getBuiltinModule('node:http');

interface MetricsPortOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly registry: Registry;
  /** Whether the process serves. */
  readonly isReady: () => boolean;
  /** What fails that the process stands on: it serves all the same. */
  readonly degraded: () => readonly Degraded[];
}

/** Listens until it is disposed of. */
interface MetricsPort extends AsyncDisposable {
  readonly url: string;
  /** Whether it listens on all interfaces. */
  readonly isOpen: boolean;
}

/**
 * Shows metrics at `/metrics`, and to probes that speak plain HTTP `/livez` and `/readyz`: 200, or 503 while the process does not
 * serve yet, or no longer. What fails that it stands on is in the text of `/readyz` and does not change its status: a replica that
 * is taken out of service for its store's sake would leave its callers with nobody who answers. Nothing else is there, and
 * nobody is asked who they are.
 * @throws the error of the socket when the address cannot be bound.
 */
export async function openMetricsPort({
  host,
  port,
  registry,
  isReady,
  degraded,
}: MetricsPortOptions): Promise<MetricsPort> {
  const answer: RequestListener = ({ url = '', method }, response) => {
    const path = url.split('?')[0] ?? '';
    const reply = (status: number, text: string, type = 'text/plain; charset=utf-8'): void => {
      response.writeHead(status, { 'Content-Type': type, 'Cache-Control': 'no-store' }).end(text);
    };
    if (method !== 'GET' && method !== 'HEAD') reply(405, 'only GET\n');
    else if (path === '/livez') reply(200, 'live\n');
    else if (path === '/readyz')
      reply(isReady() ? 200 : 503, `${isReady() ? 'ready' : 'not ready'}\n${linesOf(degraded())}`);
    else if (path !== '/metrics') reply(404, 'metrics are at /metrics\n');
    else {
      hideInherited();
      registry.read().then(
        ({ type, text }) => reply(200, text, type),
        () => reply(500, 'the metrics could not be read\n'),
      );
    }
  };
  const server = createServer(answer);
  server.listen(port, host);
  // It keeps no process running: one whose start waits for what never comes has nothing left to do, and says so.
  server.unref();
  await once(server, 'listening');
  const { port: bound, address } = server.address() as AddressInfo;
  return {
    url: httpUrl(host, bound),
    isOpen: address === '0.0.0.0' || address === '::',
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

const linesOf = (parts: readonly Degraded[]): string =>
  parts.map(({ name, reason }) => `degraded: ${name}: ${reason}\n`).join('');
