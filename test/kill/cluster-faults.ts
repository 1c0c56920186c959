import { setTimeout as delay } from 'node:timers/promises';
import type { PrivateGround } from '../servers/cluster-ground.ts';
import type { Replica } from '../servers/cluster-replica.ts';
import type { Cluster } from '../servers/cluster.ts';

/** What can be done to a cluster on servers of its own. */
export const faultKinds = ['worker', 'gateway', 'threads', 'nats', 'nats-lost', 'cassandra'] as const;
export type FaultKind = (typeof faultKinds)[number];

/** How likely each is, out of their sum: what happens most is what is cheapest to recover from, so that there are many. */
export const usualWeights: Readonly<Record<FaultKind, number>> = {
  worker: 10,
  gateway: 4,
  threads: 4,
  nats: 2,
  'nats-lost': 1,
  cassandra: 1,
};

export interface Faults extends AsyncDisposable {
  /** Does one; processes come back by themselves a little later, a server is back when this resolves. */
  readonly inject: () => Promise<FaultKind>;
  /** Resolves when everything runs. */
  readonly healed: () => Promise<void>;
  readonly done: Readonly<Record<FaultKind, number>>;
  /** How often events have been deleted, from the moment that it begins. */
  readonly losses: () => number;
  /** How often NATS has been unavailable, with its events or without them, likewise. */
  readonly outages: () => number;
}

interface FaultOptions {
  readonly cluster: Cluster & { readonly ground: PrivateGround };
  readonly weights: Readonly<Record<FaultKind, number>>;
  readonly random: () => number;
}

/** How long a server stays unavailable beside its start, at most, in milliseconds. */
const awayMs = 500;
const pollMs = 20;

export function createFaults({ cluster, weights, random }: FaultOptions): Faults {
  const { ground, executions, gateways, threads } = cluster;
  const replicas = { worker: executions, gateway: gateways, threads };
  const done = Object.fromEntries(faultKinds.map((kind) => [kind, 0])) as Record<FaultKind, number>;
  const starting = new Set<Promise<void>>();
  let losses = 0;
  let outages = 0;
  let broken: Error | undefined;

  const startAgain = (replica: Replica): void => {
    const start = replica
      .start()
      .catch((error: unknown) => {
        broken ??= new Error(`${replica.name} does not start again: ${String(error)}`);
      })
      .finally(() => starting.delete(start));
    starting.add(start);
  };

  /** One of those that run, as long as another does. */
  const killOne = async (of: readonly Replica[]): Promise<void> => {
    for (;;) {
      const running = of.filter((replica) => replica.isRunning());
      const chosen = running[Math.floor(random() * running.length)];
      if (chosen && running.length > 1) {
        await chosen.kill();
        startAgain(chosen);
        return;
      }
      if (broken) throw broken;
      await delay(pollMs);
    }
  };

  const acts: Readonly<Record<FaultKind, () => Promise<void>>> = {
    worker: () => killOne(replicas.worker),
    gateway: () => killOne(replicas.gateway),
    threads: () => killOne(replicas.threads),
    nats: async () => {
      outages++;
      await ground.nats.kill();
      await delay(random() * awayMs);
      await ground.nats.restart();
    },
    'nats-lost': async () => {
      losses++;
      outages++;
      await ground.nats.kill();
      await ground.nats.wipe();
      await ground.nats.restart();
    },
    cassandra: async () => {
      await ground.cassandra.kill();
      await delay(random() * awayMs);
      await ground.cassandra.restart();
    },
  };

  const choose = (): FaultKind => {
    let left = random() * faultKinds.reduce((sum, kind) => sum + weights[kind], 0);
    return faultKinds.find((kind) => (left -= weights[kind]) < 0) ?? 'worker';
  };

  const healed = async (): Promise<void> => {
    while (starting.size > 0) await Promise.all(starting);
    if (broken) throw broken;
  };

  return {
    done,
    healed,
    losses: () => losses,
    outages: () => outages,
    inject: async () => {
      const kind = choose();
      await acts[kind]();
      done[kind]++;
      if (broken) throw broken;
      return kind;
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(starting);
    },
  };
}
