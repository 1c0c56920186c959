import { createInbox } from 'nats';
import type { WorkerLeases } from '../../ports/port.ts';
import { called, fromNatsError, type NatsClient } from './client.ts';
import { rollCallSubject } from './older.ts';
import { subjectPrefix } from './streams.ts';

export interface NatsLeasesOptions {
  readonly client: NatsClient;
  readonly prefix: string;
  /** The longest lease that anybody takes: how long to listen before silence means death, in milliseconds. */
  readonly leaseMs: number;
}

/** What was heard of one worker. */
interface Heard {
  /** Until when it is alive, by this process' own clock that nobody sets; `-Infinity` when it has given its lease up. */
  readonly until: number;
}

/** A server that answers no sooner has been standing still: what was not heard meanwhile proves nothing. */
const flushTimeoutMs = 2000;

/**
 * Opens leases that are heard, not stored: workers tell all replicas that they live, and each replica judges by how long it
 * heard nothing, on its own clock. Whoever has not listened for a whole lease, because it came later or lost the connection,
 * takes nobody for dead before it has.
 */
export async function openNatsWorkerLeases({ client, prefix, leaseMs }: NatsLeasesOptions): Promise<WorkerLeases> {
  const subject = `${subjectPrefix(prefix)}alive`;
  const rollCall = rollCallSubject(prefix);
  const answers = createInbox();
  const heard = new Map<string, Heard>();
  /** Leases that were renewed here. */
  const own = new Map<string, number>();
  const changes = new Set<() => void>();
  let listeningSince = performance.now();

  const tell = (workerId: string, ms: number): void =>
    client.connection.publish(`${subject}.${workerId}`, String(Math.ceil(ms)));

  const hear = (workerId: string, ms: number): void => {
    if (ms <= 0) own.delete(workerId);
    heard.delete(workerId);
    heard.set(workerId, { until: ms > 0 ? performance.now() + ms : -Infinity });
    forgetOldest(heard);
    for (const go of [...changes]) go();
  };

  /** The leases that this replica renews, and what is left of them in milliseconds. */
  const ownLeft = (): [workerId: string, ms: number][] =>
    [...own]
      .map(([workerId, until]): [string, number] => [workerId, Math.ceil(until - performance.now())])
      .filter(([, ms]) => ms > 0);

  /** What was given up meanwhile is not taken up again by an answer that was under way. */
  const hearAnswer = (text: string): void => {
    const [workerId = '', ms = ''] = text.split(' ');
    if (heard.get(workerId)?.until !== -Infinity) hear(workerId, Number(ms));
  };

  const callRoll = (): void => client.connection.publish(rollCall, '', { reply: answers });

  const lives = (workerId: string): boolean => (heard.get(workerId)?.until ?? -Infinity) > performance.now();

  /** Whether silence about the worker is known to be its own. */
  const isCertain = (workerId: string): boolean =>
    heard.get(workerId)?.until === -Infinity || performance.now() - listeningSince >= leaseMs;

  /** Resolves when everything that the server had for us has come in; notes when it stood still. */
  const catchUp = async (): Promise<void> => {
    const asked = performance.now();
    try {
      await client.flush(flushTimeoutMs);
    } catch (error) {
      listeningSince = performance.now();
      throw fromNatsError(error);
    }
    if (performance.now() - asked > leaseMs / standstillPart) listeningSince = performance.now();
  };

  const subscriptions = [
    client.connection.subscribe(`${subject}.*`, {
      callback: (error, message) => {
        if (!error) hear(message.subject.slice(subject.length + 1), Number(message.string()));
      },
    }),
    client.connection.subscribe(rollCall, {
      callback: (error, message) => {
        if (!error) for (const [workerId, ms] of ownLeft()) message.respond(`${workerId} ${ms}`);
      },
    }),
    client.connection.subscribe(answers, {
      callback: (error, message) => {
        if (!error) hearAnswer(message.string());
      },
    }),
  ];
  const reconnects = client.onReconnect(() => {
    listeningSince = performance.now();
    callRoll();
    for (const [workerId, ms] of ownLeft()) tell(workerId, ms);
  });
  await client.flush(flushTimeoutMs);
  listeningSince = performance.now();
  callRoll();

  return {
    renew: async (workerId, ms) => {
      own.set(workerId, performance.now() + ms);
      if (client.isConnected()) tell(workerId, ms);
      // Resolves when the server has it, and this replica has heard it.
      await catchUp();
    },

    release: async (workerId) => {
      own.delete(workerId);
      if (client.isConnected()) tell(workerId, 0);
      await catchUp();
    },

    isHeld: async (workerId) => {
      for (;;) {
        await catchUp();
        if (lives(workerId)) return true;
        if (isCertain(workerId)) return false;
        const left = leaseMs - (performance.now() - listeningSince);
        await called(changes, AbortSignal.timeout(Math.ceil(left))).catch(() => undefined);
      }
    },

    [Symbol.asyncDispose]: async () => {
      reconnects[Symbol.dispose]();
      for (const subscription of subscriptions) if (!subscription.isClosed()) subscription.unsubscribe();
      own.clear();
    },
  };
}

/** The part of a lease that an answer of the server may take before nothing is concluded from silence. */
const standstillPart = 3;

/** Workers that are remembered: many times as many as ever live at once. */
const maxHeard = 10_000;

function forgetOldest(heard: Map<string, Heard>): void {
  if (heard.size <= maxHeard) return;
  const [oldest] = heard.keys();
  if (oldest !== undefined) heard.delete(oldest);
}
