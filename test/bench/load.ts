import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/**
 * The load: requests ready as bytes over plain sockets, replies counted and mostly not read. A client library would take
 * more time than the servers that it measures.
 */
export interface Caller extends Disposable {
  /** Sends one request; the connection is kept. @throws Error when the reply is not 2xx or the connection breaks. */
  readonly send: (request: Buffer, watch?: Watch) => Promise<Reply>;
}

export interface Watch {
  /** Keeps the text of the reply. */
  readonly keep?: boolean;
  /** Bytes to count in the reply. */
  readonly mark?: Buffer;
}

interface Reply {
  /** From the first byte sent to the last received, in milliseconds. */
  readonly ms: number;
  readonly type: string;
  /** The body where it was to be kept, chunk framing removed. */
  readonly body: string;
  /** How often the mark came, and after how many milliseconds first. */
  readonly marks: number;
  readonly firstMarkMs: number;
}

const headEnd = Buffer.from('\r\n\r\n');
const lastChunk = Buffer.from('0\r\n\r\n');

/** A request as bytes. */
export function toRequest(method: string, path: string, body?: unknown, headers: readonly string[] = []): Buffer {
  const json = body === undefined ? '' : JSON.stringify(body);
  const content = json === '' ? '' : `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(json)}\r\n`;
  const more = headers.map((header) => `${header}\r\n`).join('');
  return Buffer.from(`${method} ${path} HTTP/1.1\r\nHost: bench\r\n${more}${content}\r\n${json}`);
}

/** Opens one connection. */
export async function openCaller(port: number): Promise<Caller> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  await once(socket, 'connect');
  // The close that follows refuses the request under way.
  socket.on('error', () => undefined);
  return {
    send: (request, watch = {}) => exchange(socket, request, watch),
    [Symbol.dispose]: () => socket.destroy(),
  };
}

/** One request on a new connection, with the text of its reply. */
export async function sendOne(port: number, request: Buffer): Promise<Reply> {
  using caller = await openCaller(port);
  return await caller.send(request, { keep: true });
}

function exchange(socket: Socket, request: Buffer, { keep = false, mark }: Watch): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const start = performance.now();
    const kept: Buffer[] = [];
    const counter = mark && createCounter(mark, start);
    let head: Head | undefined;
    let early: Buffer = Buffer.alloc(0);
    let left = 0;
    let tail: Buffer = Buffer.alloc(0);

    const settle = (finish: () => void): void => {
      socket.off('data', onData);
      socket.off('close', onClose);
      finish();
    };
    const onBody = (data: Buffer): void => {
      if (keep || (head?.status ?? 0) >= 300) kept.push(data);
      counter?.count(data);
      left -= data.length;
      if (head?.chunked) tail = Buffer.concat([tail, data.subarray(-lastChunk.length)]).subarray(-lastChunk.length);
      if (head?.chunked ? tail.equals(lastChunk) : left === 0) settle(finish);
    };
    const finish = (): void => {
      const ms = performance.now() - start;
      const raw = Buffer.concat(kept);
      if (!head || head.status >= 300) {
        reject(new Error(`answered ${String(head?.status)}: ${raw.toString().slice(0, 500)}`));
        return;
      }
      const body = (head.chunked ? joinChunks(raw) : raw).toString();
      resolve({ ms, type: head.type, body, marks: counter?.marks() ?? 0, firstMarkMs: counter?.firstMs() ?? 0 });
    };
    const onData = (data: Buffer): void => {
      if (head) {
        onBody(data);
        return;
      }
      early = early.length === 0 ? data : Buffer.concat([early, data]);
      const end = early.indexOf(headEnd);
      if (end === -1) return;
      head = readHead(early.toString('latin1', 0, end));
      left = head.length;
      const body = early.subarray(end + headEnd.length);
      if (body.length > 0 || left === 0) onBody(body);
    };
    const onClose = (): void => {
      settle(() => {
        reject(new Error('the connection broke'));
      });
    };
    socket.on('data', onData);
    socket.on('close', onClose);
    socket.write(request);
  });
}

interface Head {
  readonly status: number;
  readonly type: string;
  readonly chunked: boolean;
  /** Bytes of the body; -1 when it comes in chunks. */
  readonly length: number;
}

function readHead(text: string): Head {
  const length = /content-length: (\d+)/i.exec(text)?.[1];
  return {
    status: Number(text.slice(9, 12)),
    type: /content-type: ([^\r]+)/i.exec(text)?.[1] ?? '',
    chunked: length === undefined,
    length: length === undefined ? -1 : Number(length),
  };
}

/** Counts a text in a stream of bytes, also where it was cut in two. */
function createCounter(
  mark: Buffer,
  start: number,
): { count: (data: Buffer) => void; marks: () => number; firstMs: () => number } {
  let marks = 0;
  let firstMs = 0;
  let rest: Buffer = Buffer.alloc(0);
  return {
    count: (data) => {
      const bytes = rest.length === 0 ? data : Buffer.concat([rest, data]);
      let from = 0;
      for (let at = bytes.indexOf(mark); at !== -1; at = bytes.indexOf(mark, from)) {
        if (marks++ === 0) firstMs = performance.now() - start;
        from = at + mark.length;
      }
      rest = bytes.subarray(Math.max(from, bytes.length - mark.length + 1));
    },
    marks: () => marks,
    firstMs: () => firstMs,
  };
}

/** The body without the framing of `Transfer-Encoding: chunked`. */
function joinChunks(raw: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at < raw.length;) {
    const lineEnd = raw.indexOf('\r\n', at);
    const size = parseInt(raw.toString('latin1', at, lineEnd), 16);
    parts.push(raw.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = lineEnd + 2 + size + 2;
  }
  return Buffer.concat(parts);
}
