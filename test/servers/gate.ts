import { EventEmitter, once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An address that a node asks and that answers when the test opens it: how tests hold a run at a place. */
export interface Gate extends AsyncDisposable {
  readonly url: string;
  /** Resolves when `count` visitors have come, all told. */
  readonly visited: (count: number) => Promise<void>;
  /** How many visitors have come so far. */
  readonly visits: () => number;
  /** Resolves when `count` visitors have gone away without being let pass. */
  readonly left: (count: number) => Promise<void>;
  /** Lets everybody who waits, and everybody who comes, pass. */
  readonly open: () => void;
}

export async function openGate(): Promise<Gate> {
  const waiting: ServerResponse[] = [];
  const changes = new EventEmitter();
  let visitors = 0;
  let leavers = 0;
  let isOpen = false;
  const server = createServer((_, response) => {
    visitors++;
    if (isOpen) response.end();
    else waiting.push(response);
    response.once('close', () => {
      if (!response.writableEnded) leavers++;
      changes.emit('leave');
    });
    changes.emit('visit');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${String(port)}`,
    visited: async (count) => {
      while (visitors < count) await once(changes, 'visit');
    },
    visits: () => visitors,
    left: async (count) => {
      while (leavers < count) await once(changes, 'leave');
    },
    open: () => {
      isOpen = true;
      for (const response of waiting.splice(0)) response.end();
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
