import { createShortLivedMap } from '@agent-workflow/kit/short-lived';
import { Metadata, status, type Client, type ClientDuplexStream, type ServiceError as GrpcError } from '@grpc/grpc-js';
import { spreadBy, type Tried } from './spread.ts';
import { errorKey, notBegunKey } from './status.ts';
import {
  asBytes,
  bytesOf,
  exchangePath,
  repliesCodec,
  requestsCodec,
  type StreamedReply,
  type StreamedRequest,
  type Replies,
} from './call-messages.ts';
import { createOutbox } from './outbox.ts';

/** A call that may travel on a stream. */
export interface OutgoingCall {
  readonly path: string;
  readonly message: Buffer;
  /** Milliseconds since 1970 UTC. */
  readonly deadline: number;
  readonly context: Readonly<Record<string, string>>;
  /** Called once with the reply's bytes or why there is none; never after the call was cancelled. */
  readonly answer: (error: GrpcError | null, message?: Buffer) => void;
}

/** A stream to one server, which carries calls. */
export interface CallStream {
  readonly address: string;
  /** Whether it takes another call. */
  readonly isFree: () => boolean;
  readonly send: (call: OutgoingCall) => SentCall;
  /** Takes no more calls, and ends once those under way are answered. */
  readonly retire: () => void;
}

/** What stands for a call that is under way. */
export interface SentCall {
  readonly cancel: () => void;
}

interface CallStreamOptions {
  readonly client: Client;
  readonly metadata: Metadata;
  /** Where it is to go. */
  readonly tried: Tried;
  /** The server takes calls on it. */
  readonly onOpen: (stream: CallStream) => void;
  /** It takes no more calls: it was retired, the server is ending, or it broke; `stream` is absent where it never opened. */
  readonly onEnd: (end: { readonly address: string; readonly stream?: CallStream }) => void;
}

/** How many calls may be under way on one stream, and how many of their bytes may wait to be sent. */
const maxOpen = 1000;
const maxWaitingBytes = 4 * 1024 * 1024;

interface OpenCall {
  readonly answer: OutgoingCall['answer'];
  readonly timer: NodeJS.Timeout;
}

/** Asks a server for a stream. @returns what gives up the asking; on an open stream it is {@link CallStream.retire}. */
export function openCallStream({ client, metadata, tried, onOpen, onEnd }: CallStreamOptions): () => void {
  const open = createShortLivedMap<number, OpenCall>();
  let address = '';
  let lastId = 0;
  let state: 'opening' | 'open' | 'retired' | 'over' = 'opening';

  const own = metadata.clone();
  spreadBy({ ...tried, onPick: (picked) => (address = picked) }, own);
  const sent: ClientDuplexStream<Buffer, Buffer> = client.makeBidiStreamRequest(
    exchangePath,
    asBytes,
    asBytes,
    own,
    {},
  );
  /** Takes no more calls, and all are answered: nothing that still waits to be sent is of use. */
  const isDone = (): boolean => state === 'over' || (state === 'retired' && open.size() === 0);
  const outbox = createOutbox<StreamedRequest | number>((parts, onTaken) => {
    if (isDone()) return;
    const requests = parts.filter((part) => typeof part !== 'number');
    const cancelled = parts.filter((part) => typeof part === 'number');
    sent.write(requestsCodec.encode({ requests, cancelled }), onTaken);
  });

  const take = (id: number): OpenCall | undefined => {
    const call = open.get(id);
    if (!call) return undefined;
    open.delete(id);
    clearTimeout(call.timer);
    if (isDone()) sent.cancel();
    return call;
  };
  const late = (id: number): void => {
    outbox.add(id, 0);
    take(id)?.answer(toGrpcError({ id, code: status.DEADLINE_EXCEEDED }));
  };
  const stream: CallStream = {
    get address() {
      return address;
    },
    isFree: () => state === 'open' && open.size() < maxOpen && outbox.waitingBytes() < maxWaitingBytes,
    send: ({ path, message, deadline, context, answer }) => {
      do lastId = (lastId % maxId) + 1;
      while (open.has(lastId));
      const id = lastId;
      const timeoutMs = Math.max(1, deadline - Date.now());
      const timer = setTimeout(late, Math.min(timeoutMs, maxId), id);
      open.set(id, { answer, timer });
      outbox.add({ id, path, message, timeoutMs: Math.min(timeoutMs, maxId), context }, message.byteLength);
      return {
        cancel: () => {
          if (take(id)) outbox.add(id, 0);
        },
      };
    },
    retire: () => {
      if (state === 'opening') sent.cancel();
      if (state !== 'open') return;
      state = 'retired';
      onEnd({ address, stream });
      // Not by an end of its own side: a server that hangs would keep the connection open.
      if (isDone()) sent.cancel();
    },
  };
  const receive = ({ replies, leaving }: Required<Replies>): void => {
    if (state === 'opening') {
      state = 'open';
      onOpen(stream);
    }
    for (const reply of replies) {
      const call = take(reply.id);
      if (!call) continue;
      if (reply.code) call.answer(toGrpcError(reply));
      else call.answer(null, bytesOf(reply.message as Buffer));
    }
    if (leaving) stream.retire();
  };
  const finish = (error: GrpcError): void => {
    if (state === 'over') return;
    const before = state;
    state = 'over';
    if (before !== 'retired') onEnd({ address, ...(before === 'open' ? { stream } : {}) });
    for (const id of open.keys()) take(id)?.answer(error);
  };

  sent.on('data', (bytes: Buffer) => {
    let read: Required<Replies>;
    try {
      read = repliesCodec.decode(bytes);
    } catch {
      sent.cancel();
      return;
    }
    receive(read);
  });
  sent.on('error', finish);
  // A stream that its server ends while calls wait on it is as lost as one that breaks.
  sent.on('end', () => finish(toGrpcError({ id: 0, code: status.UNAVAILABLE })));
  return stream.retire;
}

/** The largest id, and the longest timeout in milliseconds that Node's timers know. */
const maxId = 2 ** 31 - 1;

/** The error that a call of its own would have failed with. */
function toGrpcError({ code = status.UNKNOWN, details = '', error, notBegun = false }: StreamedReply): GrpcError {
  const metadata = new Metadata();
  if (error && error.length > 0) metadata.set(errorKey, error as Buffer);
  if (notBegun) metadata.set(notBegunKey, 'starting');
  return Object.assign(new Error(details), { code, details, metadata });
}
