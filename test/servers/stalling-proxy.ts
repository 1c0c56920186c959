import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A way to a server that the test can block: connections stay open, and nothing comes through. */
export interface StallingProxy extends AsyncDisposable {
  readonly port: number;
  /** From now on nothing comes through, also on connections that are made anew; or only the server's answers do not. */
  readonly stall: (what?: 'all' | 'answers') => void;
  /** What was held up, and everything after it, comes through. */
  readonly resume: () => void;
  /** Connections that are made from now on lead to another server. */
  readonly turnTo: (target: number) => void;
  /** How many connections were made so far. */
  readonly connections: () => number;
  /** How many of them its callers have not closed. */
  readonly open: () => number;
}

/** Opens it before a port of this machine. */
export async function openStallingProxy(target: number): Promise<StallingProxy> {
  const clients = new Set<Socket>();
  const answerers = new Set<Socket>();
  const stalled = new Set<ReadonlySet<Socket>>();
  let leadsTo = target;
  let connections = 0;
  const pass = (from: Socket, to: Socket, side: Set<Socket>): void => {
    side.add(from);
    // Else the second of two small writes waits for the answer to the first.
    from.setNoDelay(true);
    from.on('data', (bytes) => to.write(bytes));
    from.on('error', () => to.destroy());
    from.on('close', () => {
      side.delete(from);
      to.destroy();
    });
    if (stalled.has(side)) from.pause();
  };
  const server = createServer((near) => {
    connections += 1;
    const far = connect(leadsTo, '127.0.0.1');
    pass(near, far, clients);
    pass(far, near, answerers);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    stall: (what = 'all') => {
      for (const side of what === 'all' ? [clients, answerers] : [answerers]) {
        stalled.add(side);
        for (const socket of side) socket.pause();
      }
    },
    resume: () => {
      stalled.clear();
      for (const socket of [...clients, ...answerers]) socket.resume();
    },
    turnTo: (next) => {
      leadsTo = next;
    },
    connections: () => connections,
    open: () => clients.size,
    [Symbol.asyncDispose]: async () => {
      for (const socket of [...clients, ...answerers]) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
