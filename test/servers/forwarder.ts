import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** An address that is known before the servers behind it are: each connection goes to the next of them. */
export interface Forwarder extends AsyncDisposable {
  readonly url: string;
  /** From now on connections go there; before, they are closed. */
  readonly leadTo: (urls: readonly string[]) => void;
}

export async function openForwarder(): Promise<Forwarder> {
  let targets: readonly URL[] = [];
  let count = 0;
  const open = new Set<Socket>();
  const kept = (socket: Socket): Socket => {
    open.add(socket);
    return socket.on('error', () => socket.destroy()).once('close', () => open.delete(socket));
  };
  const server = createServer((incoming) => {
    kept(incoming);
    const target = targets[count++ % targets.length];
    if (!target) {
      incoming.destroy();
      return;
    }
    const outgoing = kept(connect(Number(target.port), target.hostname));
    incoming.pipe(outgoing).pipe(incoming);
    incoming.once('close', () => outgoing.destroy());
    outgoing.once('close', () => incoming.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    leadTo: (urls) => {
      targets = urls.map((url) => new URL(url));
    },
    [Symbol.asyncDispose]: async () => {
      server.close();
      for (const socket of open) socket.destroy();
      await once(server, 'close');
    },
  };
}
