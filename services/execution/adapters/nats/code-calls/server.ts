import { newId } from '@agent-workflow/kit/ids';
import { createByteBudget } from '@agent-workflow/runtime/budget';
import type { Msg, MsgHdrs, Subscription } from 'nats';
import type { CodeService, Reduce, ReduceRequest } from '../../../ports/code-calls.ts';
import type { HeldAgents } from '../../../ports/queue.ts';
import type { NatsClient } from '../client/client.ts';
import { hashOfPool, poolOf, type Pool } from '../client/pools.ts';
import { isCallSize, openSession, type Session } from './sessions.ts';
import { subjectOfPool } from '../client/subjects.ts';
import { numberIn, partBytesOf, pollMs, toHeaders, type CallStep, type WorkerStep } from './messages.ts';

interface ServerOptions {
  readonly client: NatsClient;
  readonly prefix: string;
  readonly held: HeldAgents;
  readonly reduce: Reduce;
  /** Calls that this process takes at once. */
  readonly callsAtOnce: number;
}

interface Taken {
  readonly session: Session;
  readonly room: Disposable;
}

/** Bytes of calls that one process holds at once. */
const bytesAtOnce = 32 * 1024 * 1024;
const flushMs = 2000;

/** Takes calls for the pools of what is held: each goes to one of the workers that do. */
export async function openServer({ client, prefix, held, reduce, callsAtOnce }: ServerOptions): Promise<CodeService> {
  const { connection } = client;
  const pools = poolsOf(held);
  const hashes = new Set(pools.map(hashOfPool));
  const served = new Set(pools.map((pool) => JSON.stringify(pool)));
  const isHeld = (request: ReduceRequest): boolean => served.has(JSON.stringify(poolOf(request)));
  const process = newId();
  const budget = createByteBudget(bytesAtOnce);
  const sessions = new Map<string, Taken>();
  let onEmpty: () => void = () => undefined;

  const take = (message: Msg, pool: string): void => {
    const total = numberIn(message.headers, 'total');
    const leftMs = numberIn(message.headers, 'left');
    const room = sessions.size < callsAtOnce && isCallSize(total) && leftMs > 0 ? budget.tryTake(total) : undefined;
    if (!room) {
      answer(message, 'busy');
      return;
    }
    const to = `${pool}.${process}.${newId()}`;
    const onEnd = (): void => {
      sessions.delete(to);
      room[Symbol.dispose]();
      if (sessions.size === 0) onEmpty();
    };
    const session = openSession({ total, leftMs, reduce, isHeld, onEnd });
    sessions.set(to, { session, room });
    if (session.add(0, message.data)) answer(message, 'taken', { to });
    else session.end();
  };

  const proceed = async (message: Msg): Promise<void> => {
    const session = sessions.get(message.subject)?.session;
    const at = numberIn(message.headers, 'at');
    switch (message.headers?.get('step') as CallStep | undefined) {
      case 'part':
        if (session?.add(at, message.data) === true) answer(message, 'taken');
        else unknown(message, session);
        return;
      case 'reply':
        await session?.settled(pollMs);
        if (session && sessions.has(message.subject)) sendReply(message, session.reply(), at);
        else unknown(message, session);
        return;
      case 'end':
        session?.end();
        return;
      case undefined:
        unknown(message, session);
    }
  };

  const sendReply = (message: Msg, reply: Buffer | undefined, at: number): void => {
    if (!reply) answer(message, 'waits');
    else if (!(at < reply.byteLength)) answer(message, 'unknown');
    else {
      const part = reply.subarray(at, at + partBytesOf(connection.info?.max_payload));
      answer(message, 'reply', { total: reply.byteLength }, part);
    }
  };

  const subscribe = (subject: string, queue: string | undefined, onMessage: (message: Msg) => void): Subscription =>
    connection.subscribe(subject, {
      ...(queue === undefined ? {} : { queue }),
      callback: (error, message) => {
        if (!error) onMessage(message);
      },
    });

  const subjects = pools.filter((pool) => hashes.delete(hashOfPool(pool))).map((pool) => subjectOfPool(prefix, pool));
  const offers = subjects.map((subject) => subscribe(subject, 'workers', (message) => take(message, subject)));
  const steps = subjects.map((subject) =>
    subscribe(`${subject}.${process}.*`, undefined, (message) => void proceed(message)),
  );
  // A server that is unavailable gets the subscriptions when it is back: no reason not to start.
  await client.flush(flushMs).catch(() => undefined);

  const close = (subscriptions: readonly Subscription[]): void => {
    for (const subscription of subscriptions) if (!subscription.isClosed()) subscription.unsubscribe();
  };
  return {
    leave: async () => {
      close(offers);
      // What was sent to this worker before has arrived then.
      await client.flush(flushMs).catch(() => undefined);
      if (sessions.size > 0) await new Promise<void>((resolve) => (onEmpty = resolve));
    },
    [Symbol.asyncDispose]: () => {
      close([...offers, ...steps]);
      for (const { session } of [...sessions.values()]) session.end();
      return Promise.resolve();
    },
  };
}

/** The pools whose calls a worker takes. */
const poolsOf = ({ agents, revision }: HeldAgents): readonly Pool[] => [
  ...agents.map((agent) => poolOf({ agent })),
  ...(revision === undefined ? [] : agents.map((agent) => poolOf({ agent, revision }))),
];

/** The caller gets no more of a call that went wrong on the way. */
function unknown(message: Msg, session: Session | undefined): void {
  session?.end();
  answer(message, 'unknown');
}

function answer(
  message: Msg,
  step: WorkerStep,
  more: Readonly<Record<string, string | number>> = {},
  data: Uint8Array = new Uint8Array(0),
): void {
  const headers: MsgHdrs = toHeaders({ ...more, step });
  message.respond(data, { headers });
}
