import type { NatsError, Msg } from 'nats';
import type { WorkerLeases } from '../../ports/leases.ts';
import { called, fromNatsError, type NatsClient } from './client/client.ts';
import { hashOfAgent } from './client/pools.ts';
import { aliveSubject, drivenSubject, rollCallSubject } from './client/subjects.ts';
import { createShownDriven, toPayload } from './driven.ts';

interface NatsLeasesOptions {
  readonly client: NatsClient;
  readonly prefix: string;
  /** The longest lease of any worker, in milliseconds: a worker that is silent for so long is dead. */
  readonly leaseMs: number;
  /** The token of the pool whose workers alone hold leases here; absent: leases of any worker are held and judged. */
  readonly token?: string | undefined;
  /** Whether this replica counts what workers drive; no when absent. */
  readonly counts?: boolean | undefined;
}

/**
 * The id of a worker that belongs to a pool. It begins with the token of the pool, so that no other pool speaks for it. Ids of other
 * workers hold no `_`.
 */
export const workerIdOf = (token: string, id: string): string => `${token}_${id}`;

/** A server that takes longer to answer was hanging: silence during that time proves nothing. */
const flushTimeoutMs = 2000;

/**
 * Opens leases that are published and not stored: workers send heartbeats to all replicas, and each replica judges by the time
 * since the last one, on its own clock. A replica that has not listened for a whole lease, because it started later or lost the
 * connection, first listens that long before it judges.
 */
export async function openNatsWorkerLeases({
  client,
  prefix,
  leaseMs,
  token,
  counts = false,
}: NatsLeasesOptions): Promise<WorkerLeases> {
  const subject = aliveSubject(prefix);
  const rollCall = rollCallSubject(prefix);
  const heartbeats = createHeartbeats();
  const shown = createShownDriven();
  /** Leases that are renewed here, with the time until which they hold. */
  const own = new Map<string, number>();
  const changes = new Set<() => void>();
  let listeningSince = performance.now();

  const publish = (workerId: string, ms: number): void =>
    client.connection.publish(
      token === undefined ? `${subject}.${workerId}` : `${subject}.${token}.${workerId}`,
      String(Math.ceil(ms)),
    );

  const record = (workerId: string, ms: number): void => {
    if (ms <= 0) own.delete(workerId);
    heartbeats.set(workerId, ms);
    for (const onChange of [...changes]) onChange();
  };

  /** The leases that this replica renews, and the rest of their time in milliseconds. */
  const ownLeases = (): [workerId: string, ms: number][] =>
    [...own]
      .map(([workerId, until]): [string, number] => [workerId, Math.ceil(until - performance.now())])
      .filter(([, ms]) => ms > 0);

  const recordHeartbeat = (workerId: string, message: Msg): void => {
    const ms = readHeartbeat(message);
    if (ms !== undefined) record(workerId, ms);
  };

  /** An answer to a roll call that was under way does not revive a lease that was released meanwhile. */
  const recordAnswer = (text: string): void => {
    const [workerId = '', ms = ''] = text.split(' ');
    if (!heartbeats.isReleased(workerId)) record(workerId, Number(ms));
  };

  const answers = client.inbox();
  const callRoll = (): void => {
    if (token === undefined) client.connection.publish(rollCall, '', { reply: answers });
  };

  /** Whether silence of the worker can only mean that it is dead. */
  const isCertain = (workerId: string): boolean =>
    heartbeats.isReleased(workerId) || performance.now() - listeningSince >= leaseMs;

  /** Resolves when everything that the server had for this replica has arrived; notes when the server hung. */
  const catchUp = async (): Promise<void> => {
    const startedAt = performance.now();
    try {
      await client.flush(flushTimeoutMs);
    } catch (error) {
      listeningSince = performance.now();
      throw fromNatsError(error);
    }
    if (performance.now() - startedAt > leaseMs / standstillPart) listeningSince = performance.now();
  };

  const subscribe = (to: string, onMessage: (message: Msg) => void): Disposable => {
    const subscription = client.connection.subscribe(to, {
      callback: (error: NatsError | null, message) => {
        if (!error) onMessage(message);
      },
    });
    return {
      [Symbol.dispose]: () => {
        if (!subscription.isClosed()) subscription.unsubscribe();
      },
    };
  };

  using opening = new DisposableStack();
  opening.use(
    subscribe(rollCall, (message) => {
      for (const [workerId, ms] of ownLeases())
        if (token === undefined) message.respond(`${workerId} ${ms}`);
        // Its user may not publish to the subject of a reply.
        else publish(workerId, ms);
    }),
  );
  if (token === undefined) {
    opening.use(
      subscribe(`${subject}.*`, (message) => {
        recordHeartbeat(message.subject.slice(subject.length + 1), message);
      }),
    );
    opening.use(
      subscribe(`${subject}.*.*`, (message) => {
        const [ofPool = '', workerId = ''] = message.subject.slice(subject.length + 1).split('.');
        // A pool speaks for its own workers alone.
        if (workerId.startsWith(workerIdOf(ofPool, ''))) recordHeartbeat(workerId, message);
      }),
    );
    opening.use(subscribe(answers, (message) => recordAnswer(message.string())));
  }
  if (counts) {
    opening.use(
      subscribe(`${drivenSubject(prefix)}.*.*`, ({ subject, data }) => {
        const [workerId = '', hash = ''] = subject.split('.').toReversed();
        shown.receive({ hash, workerId }, data);
      }),
    );
  }
  opening.use(
    client.onReconnect(() => {
      listeningSince = performance.now();
      callRoll();
      for (const [workerId, ms] of ownLeases()) publish(workerId, ms);
    }),
  );
  await client.flush(flushTimeoutMs);
  listeningSince = performance.now();
  callRoll();
  const opened = opening.move();

  return {
    renew: async (workerId, ms) => {
      own.set(workerId, performance.now() + ms);
      if (client.isConnected()) publish(workerId, ms);
      // Resolves when the server has the heartbeat, and this replica has got it back.
      await catchUp();
    },

    release: async (workerId) => {
      own.delete(workerId);
      if (client.isConnected()) publish(workerId, 0);
      await catchUp();
    },

    isAlive: async (workerId) => {
      // A worker that belongs to a pool receives no heartbeats: replicas of the role `api` judge.
      if (token !== undefined) return true;
      for (;;) {
        await catchUp();
        if (heartbeats.isAlive(workerId)) return true;
        if (isCertain(workerId)) return false;
        const left = leaseMs - (performance.now() - listeningSince);
        await called(changes, AbortSignal.timeout(Math.ceil(left))).catch(() => undefined);
      }
    },

    living: heartbeats.living,

    showDriven: (workerId, driven) => {
      if (!client.isConnected()) return;
      for (const each of driven)
        client.connection.publish(`${drivenSubject(prefix)}.${hashOfAgent(each.agent)}.${workerId}`, toPayload(each));
    },

    driven: () => shown.of(heartbeats.isAlive),

    [Symbol.asyncDispose]: async () => {
      opened.dispose();
      own.clear();
    },
  };
}

/** The milliseconds of a heartbeat; `undefined` for any other message, as what the server sends of itself. */
const readHeartbeat = (message: Msg): number | undefined =>
  message.headers === undefined && /^\d{1,9}$/.test(message.string()) ? Number(message.string()) : undefined;

/** The part of a lease that an answer of the server may take before nothing is concluded from silence. */
const standstillPart = 3;

/** Workers of one pool that are remembered, and workers of no pool: many times as many as are ever alive at once. */
const maxOfPool = 2000;
const maxOfNone = 10_000;

/** The pool that the id of a worker begins with; empty for a worker of none. */
const poolIn = (workerId: string): string => workerId.slice(0, Math.max(0, workerId.indexOf('_')));

/** The last heartbeat of each worker. */
interface Heartbeats {
  /** Counts the worker as alive for `ms` from now; as released when `ms` is not above 0. */
  readonly set: (workerId: string, ms: number) => void;
  readonly isAlive: (workerId: string) => boolean;
  readonly isReleased: (workerId: string) => boolean;
  readonly living: () => ReadonlySet<string>;
}

function createHeartbeats(): Heartbeats {
  /**
   * Until when each worker is alive, by the monotonic clock of this process; `-Infinity` once its lease is released. Each pool has a map of its
   * own: one that makes up workers makes this process forget no others than its own.
   */
  const pools = new Map<string, Map<string, number>>();
  const expiryOf = (workerId: string): number | undefined => pools.get(poolIn(workerId))?.get(workerId);
  return {
    set: (workerId, ms) => {
      const pool = poolIn(workerId);
      const until = pools.get(pool) ?? new Map<string, number>();
      pools.set(pool, until);
      // Deleted first, so that the map stays in the order of the last heartbeats.
      until.delete(workerId);
      until.set(workerId, ms > 0 ? performance.now() + ms : -Infinity);
      if (until.size <= (pool === '' ? maxOfNone : maxOfPool)) return;
      const [oldest] = until.keys();
      if (oldest !== undefined) until.delete(oldest);
    },
    isAlive: (workerId) => (expiryOf(workerId) ?? -Infinity) > performance.now(),
    isReleased: (workerId) => expiryOf(workerId) === -Infinity,
    living: () => {
      const now = performance.now();
      const all = [...pools.values()].flatMap((until) => [...until]);
      return new Set(all.flatMap(([workerId, end]) => (end > now ? [workerId] : [])));
    },
  };
}
