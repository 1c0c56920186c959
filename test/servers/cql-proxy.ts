import { once } from 'node:events';
import { createServer, connect, type AddressInfo, type Socket } from 'node:net';

/** What becomes of a reply: it goes on, goes on late, never comes, or the connection breaks in its place. */
export type Fate = 'pass' | 'drop' | 'cut' | { readonly delayMs: number };

export interface Exchange {
  /** Whether the request was a batch with a condition, which the reply tells. */
  readonly isConditional: boolean;
  /** A batch, or a statement by itself. */
  readonly isStatement: boolean;
  /** Whether all of it was prepared: of a batch the first statement speaks for the others. */
  readonly isPrepared: boolean;
}

/** Stands between a driver and a Cassandra server. Requests always arrive; what becomes of the replies is for `judge` to say. */
export interface CqlProxy extends AsyncDisposable {
  readonly contactPoint: string;
  /** Asked at each reply. */
  judge: (exchange: Exchange) => Fate;
  /** Breaks every connection. */
  readonly cutAll: () => void;
}

/** `contactPoint`: `host:port` of the server. */
export async function openCqlProxy(contactPoint: string): Promise<CqlProxy> {
  const [host = '', port = ''] = contactPoint.split(':');
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect({ host, port: Number(port), noDelay: true });
    client.setNoDelay(true);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
    relay(client, upstream, (exchange) => proxy.judge(exchange));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const proxy: CqlProxy = {
    contactPoint: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    judge: () => 'pass',
    cutAll: () => {
      for (const socket of sockets) socket.destroy();
    },
    [Symbol.asyncDispose]: async () => {
      proxy.cutAll();
      server.close();
      await once(server, 'close');
    },
  };
  return proxy;
}

/** Opcodes of the protocol's version 4. */
const query = 0x07;
const execute = 0x0a;
const batch = 0x0d;

function relay(client: Socket, upstream: Socket, judge: (exchange: Exchange) => Fate): void {
  const asked = new Map<number, Asked>();
  eachFrame(client, (frame) => {
    asked.set(streamOf(frame), exchangeOf(frame));
    upstream.write(frame);
  });
  eachFrame(upstream, (frame) => {
    const { isBatch = false, ...rest } = asked.get(streamOf(frame)) ?? {};
    const fate = 'isStatement' in rest ? judge({ ...rest, isConditional: isBatch && holdsRows(frame) }) : 'pass';
    if (fate === 'pass') client.write(frame);
    else if (fate === 'cut') client.destroy();
    else if (fate !== 'drop') setTimeout(() => client.writable && client.write(frame), fate.delayMs);
  });
}

const headerBytes = 9;
const streamOf = (frame: Buffer): number => frame.readInt16BE(2);

interface Asked extends Omit<Exchange, 'isConditional'> {
  readonly isBatch: boolean;
}

const result = 0x08;
const rows = 2;

/** Whether a reply holds rows: that of a batch does when it was to hold a condition. */
const holdsRows = (frame: Buffer): boolean => frame.readUInt8(4) === result && frame.readInt32BE(headerBytes) === rows;

function exchangeOf(frame: Buffer): Asked {
  const opcode = frame.readUInt8(4);
  return {
    isBatch: opcode === batch,
    isStatement: opcode === batch || opcode === execute || opcode === query,
    // Behind type and number of statements: whether the first is an id rather than a text.
    isPrepared: opcode === execute || (opcode === batch && frame.readUInt8(headerBytes + 3) === 1),
  };
}

function eachFrame(socket: Socket, use: (frame: Buffer) => void): void {
  let left: Buffer = Buffer.alloc(0);
  socket.on('data', (bytes: Buffer) => {
    left = left.length === 0 ? bytes : Buffer.concat([left, bytes]);
    while (left.length >= headerBytes) {
      const end = headerBytes + left.readUInt32BE(5);
      if (left.length < end) return;
      use(left.subarray(0, end));
      left = left.subarray(end);
    }
  });
}
