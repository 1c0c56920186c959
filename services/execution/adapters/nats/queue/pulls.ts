import type { Msg } from 'nats';
import type { NatsClient } from '../client/client.ts';
import type { Lane } from '../client/pools.ts';

/** A run as a lane delivered it. */
export interface Delivery {
  /** The consumer of the lane. */
  readonly consumer: string;
  readonly message: Msg;
  /** How many more runs wait in the lane. */
  readonly left: number;
}

interface PullOptions {
  readonly client: NatsClient;
  /** How long a pull request waits for a run, in milliseconds. */
  readonly expiryMs: number;
  readonly onDelivery: (delivery: Delivery) => void;
  /** No run waits in the lane of this consumer. */
  readonly onEmpty: (consumer: string) => void;
  /** A pull request failed; it may be repeated after a pause. */
  readonly onFailed: () => void;
  /** No run came before a pull request expired; it may be repeated at once. */
  readonly onExpired: (consumer: string) => void;
  /** The lane's consumer, or the whole stream, does not exist. */
  readonly onMissing: (consumer: string) => void;
}

/** Pull requests to the lanes: at most one is open to each, for one run. */
export interface Pulls extends Disposable {
  readonly isOpen: (lane: Lane) => boolean;
  /** Requests a run that waits already: the lane answers at once. */
  readonly pullNow: (lane: Lane) => void;
  /** Requests the next run, whenever it comes. */
  readonly pullNext: (lane: Lane) => void;
  /** Drops pull requests that are overdue for an answer. */
  readonly dropOverdue: () => void;
  /** Drops all pull requests, because the connection was lost. */
  readonly dropAll: () => void;
  /** Closes all pull requests. Once it has resolved, the server delivers to other replicas what it would have delivered here. */
  readonly leave: () => Promise<void>;
}

/** How long after its expiry a pull request waits for an answer. */
const graceMs = 5000;
const nanosPerMs = 1_000_000;

const statusNoMessages = 404;
const statusExpired = 408;
const statusNoResponder = 503;

/** Where a consumer's next message is requested. */
export const nextSubject = (stream: string, consumer: string): string =>
  `$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`;

interface PullRequest {
  readonly number: number;
  readonly dueAt: number;
}

export function createPulls(options: PullOptions): Pulls {
  const { client, expiryMs, onDelivery, onEmpty, onFailed, onExpired, onMissing } = options;
  const { connection } = client;
  const inbox = client.inbox();
  const open = new Map<string, PullRequest>();
  let requests = 0;

  const pull = ({ consumer, stream }: Lane, query: Record<string, unknown>, waitMs: number): void => {
    const number = ++requests;
    open.set(consumer, { number, dueAt: performance.now() + waitMs + graceMs });
    connection.publish(nextSubject(stream, consumer), JSON.stringify({ batch: 1, ...query }), {
      reply: `${inbox}.${consumer}.${number}`,
    });
  };

  const onReply = (message: Msg): void => {
    const code = message.headers?.code ?? 0;
    if (code === 0) {
      // A run arrives under its own subject: only its reply subject names the lane.
      const { consumer, left } = readReplySubject(message.reply);
      open.delete(consumer);
      onDelivery({ consumer, message, left });
      return;
    }
    const [consumer = '', number = ''] = message.subject.slice(inbox.length + 1).split('.');
    if (open.get(consumer)?.number !== Number(number)) return;
    open.delete(consumer);
    if (code === statusNoMessages) onEmpty(consumer);
    else if (code === statusExpired) onExpired(consumer);
    else if (code === statusNoResponder) onMissing(consumer);
    // Among others when the consumer was deleted: the next pull request has no responder then.
    else onFailed();
  };

  const subscription = connection.subscribe(`${inbox}.*.*`, {
    callback: (error, message) => {
      if (!error) onReply(message);
    },
  });

  return {
    isOpen: ({ consumer }) => open.has(consumer),
    pullNow: (lane) => pull(lane, { no_wait: true }, 0),
    pullNext: (lane) => pull(lane, { expires: expiryMs * nanosPerMs }, expiryMs),

    dropOverdue: () => {
      const now = performance.now();
      for (const [consumer, { dueAt }] of open) if (dueAt < now) open.delete(consumer);
    },

    dropAll: () => open.clear(),

    leave: async () => {
      if (!subscription.isClosed()) await subscription.drain();
    },

    [Symbol.dispose]: () => {
      if (!subscription.isClosed()) subscription.unsubscribe();
    },
  };
}

/**
 * The consumer that delivered a run, and how many wait behind it, from the reply subject
 * `$JS.ACK.{stream}.{consumer}.{deliveries}.{sequence}.{delivery}.{time}.{left}`, which may have two more words before the stream.
 */
function readReplySubject(reply = ''): Pick<Delivery, 'consumer' | 'left'> {
  const words = reply.split('.');
  const start = words.length >= longReplyWords ? 4 : 2;
  return { consumer: words[start + 1] ?? '', left: Number(words[start + 6] ?? 0) };
}

const longReplyWords = 11;
