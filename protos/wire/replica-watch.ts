import { Metadata, type Client, type ClientUnaryCall } from '@grpc/grpc-js';
import { spreadBy, type Tried } from './spread.ts';

/**
 * Finds replicas that have stopped answering, sooner than keepalive does: while calls wait at a replica it is asked for its
 * health, and one that says nothing for a second is silent until it answers. Nothing is dropped for it: a silent replica may be
 * a busy one. New calls go elsewhere while they can, and the callbacks of calls that wait there are called, so that they can be made elsewhere too.
 * Disposal, before the client is closed, cancels its probes: one at a silent replica would keep the connection open.
 */
export interface ReplicaWatch extends Disposable {
  /** Addresses of the replicas that are silent. */
  readonly silent: ReadonlySet<string>;
  /** A call has gone to this address; `onSilent` is called each time that the replica falls silent while it waits there. */
  readonly enter: (address: string, onSilent: () => void) => void;
  /** That call waits there no more. */
  readonly leave: (address: string, onSilent: () => void) => void;
  /** Whether a replica at another address answers. */
  readonly isAnotherThere: (address: string) => Promise<boolean>;
}

/** How often it is looked which calls still wait, in milliseconds. */
const checkEveryMs = 250;
/** How long after one probe the next begins at the soonest, in milliseconds. */
const probeEveryMs = 500;
/** A replica that has not answered a probe for so long is silent, in milliseconds. */
const silentMs = 1000;
/** How long the answer of a silent replica is waited for until it is asked anew, in milliseconds. */
const probeMs = 10_000;

interface Replica {
  /** What to call for each call that waits there, with the time at which it came. */
  readonly waiting: Map<() => void, number>;
  readonly timer: NodeJS.Timeout;
  probedAt: number;
  probe: ClientUnaryCall | undefined;
}

/** Watches the replicas that a client calls. It has a timer only where calls waited lately. */
export function watchReplicas(client: Client): ReplicaWatch {
  const replicas = new Map<string, Replica>();
  const silent = new Set<string>();

  const fallSilent = (address: string, { waiting }: Replica): void => {
    silent.add(address);
    for (const onSilent of waiting.keys()) onSilent();
  };

  const probe = (address: string, replica: Replica): void => {
    const begunAt = performance.now();
    replica.probedAt = begunAt;
    const tried: Tried = { addresses: new Set(), mustDiffer: false, only: address };
    const late = setTimeout(() => {
      // What has arrived while this process itself was paused is read before this.
      setImmediate(() => {
        if (replica.probe && replica.probedAt === begunAt) fallSilent(address, replica);
      });
    }, silentMs);
    // Whatever comes is an answer, and where the connection is lost nothing waits there any more.
    replica.probe = checkHealth(client, tried, probeMs, () => {
      clearTimeout(late);
      replica.probe = undefined;
      silent.delete(address);
    });
  };

  const check = (address: string): void => {
    const replica = replicas.get(address);
    if (!replica || replica.probe) return;
    if (replica.waiting.size === 0) {
      clearInterval(replica.timer);
      replicas.delete(address);
      return;
    }
    const now = performance.now();
    const [oldest = now] = replica.waiting.values();
    if (now - oldest >= checkEveryMs && now - replica.probedAt >= probeEveryMs) probe(address, replica);
  };

  const replicaAt = (address: string): Replica => {
    const known = replicas.get(address);
    if (known) return known;
    const timer = setInterval(check, checkEveryMs, address).unref();
    const replica: Replica = { waiting: new Map(), timer, probedAt: -Infinity, probe: undefined };
    replicas.set(address, replica);
    return replica;
  };

  return {
    silent,
    enter: (address, onSilent) => {
      replicaAt(address).waiting.set(onSilent, performance.now());
    },
    leave: (address, onSilent) => {
      replicas.get(address)?.waiting.delete(onSilent);
    },
    isAnotherThere: (address) =>
      new Promise((resolve) => {
        const tried: Tried = { addresses: new Set([address]), mustDiffer: true, silent };
        checkHealth(client, tried, silentMs, resolve);
      }),
    [Symbol.dispose]: () => {
      for (const replica of replicas.values()) {
        clearInterval(replica.timer);
        replica.probe?.cancel();
      }
      replicas.clear();
    },
  };
}

const healthCheck = '/grpc.health.v1.Health/Check';
/** A health check of the whole server is an empty message. */
const wholeServer = Buffer.alloc(0);

/** Asks the health of a server; gives whether it answered. A closed client, whose calls may still wait, asks nobody. */
function checkHealth(
  client: Client,
  tried: Tried,
  ms: number,
  answer: (isAnswered: boolean) => void,
): ClientUnaryCall | undefined {
  const metadata = new Metadata();
  spreadBy(tried, metadata);
  try {
    return client.makeUnaryRequest(
      healthCheck,
      (message: Buffer) => message,
      (message: Buffer) => message,
      wholeServer,
      metadata,
      { deadline: Date.now() + ms },
      (error) => {
        answer(error === null);
      },
    );
  } catch {
    answer(false);
    return undefined;
  }
}
