import { freezeUnderLoad, frozenMs } from '../faults/cluster/frozen-load.ts';
import { openWholePrivateCluster } from '../servers/cluster.ts';
import { shareWithin } from '../quantiles.ts';
import { atMost, type Figure } from './figure.ts';

const aimMs = 2000;

/** How long callers wait while one replica of each kind is frozen (SIGSTOP) and another one works. */
export async function frozen(): Promise<Figure[]> {
  await using cluster = await openWholePrivateCluster({
    agent: 'held',
    gateways: 2,
    threads: 2,
    executions: 2,
    memories: 2,
  });
  const figures: Figure[] = [];
  for (const kind of ['threads', 'executions', 'memories'] as const) {
    const { times, underWay, failures } = await freezeUnderLoad(cluster, kind);
    if (failures.length > 0)
      throw new Error(`calls failed while one of the ${kind} was frozen: ${failures.join('; ')}`);
    const calls = [...times.values()].flat();
    const ours = shareWithin(calls, 0.99);
    const name = `one of two ${kind} frozen for ${frozenMs[kind] / 1000} s`;
    figures.push(
      { name: `${name}: p99 of ${calls.length} calls`, unit: 'ms', ours, aim: atMost(ours, aimMs, ' ms') },
      { name: `${name}: longest that was under way`, unit: 'ms', ours: Math.max(0, ...underWay) },
    );
  }
  return figures;
}
