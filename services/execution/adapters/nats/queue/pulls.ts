import { createInbox, type Msg } from 'nats';
import type { NatsClient } from '../client.ts';
import { allLanes, type StreamNames } from '../streams.ts';

/** A run as a lane gave it out. */
export interface Delivery {
  readonly lane: number;
  readonly message: Msg;
  /** How many more wait in the lane. */
  readonly left: number;
}

export interface PullOptions {
  readonly client: NatsClient;
  readonly names: StreamNames;
  /** How long a question waits for a run, in milliseconds. */
  readonly expiryMs: number;
  readonly onDelivery: (delivery: Delivery) => void;
  /** None waits in the lane. */
  readonly onEmpty: (lane: number) => void;
  /** A question failed: it may be asked again a little later. */
  readonly onOver: (lane: number) => void;
  /** Nothing came while a question was open: it may be asked again at once. */
  readonly onExpired: () => void;
  /** The lane's consumer, or the whole stream, is not there. */
  readonly onMissing: (lane: number) => void;
}

/** Questions to the lanes: one at most is open to each, and its answer is one run at most. */
export interface Pulls extends Disposable {
  readonly isOpen: (lane: number) => boolean;
  /** Asks for a run that waits already: answered at once. */
  readonly askNow: (lane: number) => void;
  /** Asks for the next run, whenever it comes. */
  readonly askLater: (lane: number) => void;
  /** Gives up on questions that were not answered when they should have been; gives those lanes. */
  readonly dropOverdue: () => readonly number[];
  /** No question of before is answered any more: the connection was lost. */
  readonly dropAll: () => void;
  /** No question is answered any more, once it has resolved: the server gives to others what it would have given here. */
  readonly leave: () => Promise<void>;
}

/** How long after a question has run out a server that says nothing is given up. */
const graceMs = 5000;
const nanosPerMs = 1_000_000;

const statusNoMessages = 404;
const statusExpired = 408;
const statusNoResponder = 503;

interface Question {
  readonly number: number;
  readonly dueAt: number;
}

export function createPulls(options: PullOptions): Pulls {
  const { client, names, expiryMs, onDelivery, onEmpty, onOver, onExpired, onMissing } = options;
  const { connection } = client;
  const inbox = createInbox();
  const open = new Map<number, Question>();
  let asked = 0;

  const ask = (lane: number, query: Record<string, unknown>, waitMs: number): void => {
    const number = ++asked;
    open.set(lane, { number, dueAt: performance.now() + waitMs + graceMs });
    connection.publish(
      `$JS.API.CONSUMER.MSG.NEXT.${names.runs}.${names.consumer(lane)}`,
      JSON.stringify({ batch: 1, ...query }),
      { reply: `${inbox}.${lane}.${number}` },
    );
  };

  const hear = (message: Msg): void => {
    const code = message.headers?.code ?? 0;
    if (code === 0) {
      // A run comes under its own subject: whose question it answers only its consumer says.
      const { lane, left } = readReply(names, message.reply);
      open.delete(lane);
      onDelivery({ lane, message, left });
      return;
    }
    const [lane = 0, number = 0] = message.subject
      .slice(inbox.length + 1)
      .split('.')
      .map(Number);
    if (open.get(lane)?.number !== number) return;
    open.delete(lane);
    if (code === statusNoMessages) onEmpty(lane);
    else if (code === statusExpired) onExpired();
    else if (code === statusNoResponder || isDeleted(message)) onMissing(lane);
    else onOver(lane);
  };

  const subscription = connection.subscribe(`${inbox}.*.*`, {
    callback: (error, message) => {
      if (!error) hear(message);
    },
  });

  return {
    isOpen: (lane) => open.has(lane),
    askNow: (lane) => ask(lane, { no_wait: true }, 0),
    askLater: (lane) => ask(lane, { expires: expiryMs * nanosPerMs }, expiryMs),

    dropOverdue: () => {
      const now = performance.now();
      const overdue = [...open].filter(([, { dueAt }]) => dueAt < now).map(([lane]) => lane);
      for (const lane of overdue) open.delete(lane);
      return overdue;
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

const isDeleted = ({ headers }: Msg): boolean => headers?.description.toLowerCase().includes('deleted') === true;

/**
 * Which lane gave a run out, and how many wait behind it, as its reply subject says:
 * `$JS.ACK.{stream}.{consumer}.{deliveries}.{place}.{delivery}.{time}.{left}`, or with two more words before the stream.
 */
function readReply({ consumer }: StreamNames, reply = ''): Pick<Delivery, 'lane' | 'left'> {
  const words = reply.split('.');
  const start = words.length >= longReplyWords ? 4 : 2;
  return { lane: Number(words[start + 1]?.slice(consumer('').length)), left: Number(words[start + 6] ?? 0) };
}

const longReplyWords = 11;

export const lanesOf = Array.from({ length: allLanes }, (_, lane) => lane);
