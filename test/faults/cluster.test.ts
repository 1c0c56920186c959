import test from 'ava';
import { openWholePrivateCluster, type WholePrivateCluster } from '../servers/cluster.ts';
import { frozenReplica } from './cluster/frozen-replica.ts';
import { servicesAway } from './cluster/away.ts';
import { callMs, frozenServer } from './cluster/frozen-server.ts';
import { goneNode } from './cluster/gone-node.ts';
import { killedGateway, streams } from './cluster/killed-gateway.ts';
import { withFaultsOfCluster } from './suite.ts';
import { byLoad } from '../by-load.ts';

/** A dozen processes and four servers on a machine that is busy. */
const startMs = 120_000;

withFaultsOfCluster(test, () => {
  let opened: WholePrivateCluster | undefined;
  const cluster = (): WholePrivateCluster => {
    if (!opened) throw new Error('the cluster is not open');
    return opened;
  };
  test.serial.before(async (t) => {
    t.timeout(byLoad(startMs));
    const env = { MAX_STREAMS_PER_PRINCIPAL: String(streams), CALL_TIMEOUT_MS: String(callMs) };
    const counts = { gateways: 2, threads: 2, executions: 2, memories: 2 };
    opened = await openWholePrivateCluster({ agent: 'held', ...counts, env });
  });
  test.after.always(async () => opened?.[Symbol.asyncDispose]());

  killedGateway(test, cluster);
  frozenReplica(test, cluster);
  frozenServer(test, cluster);
  servicesAway(test, cluster);
  goneNode(test, cluster);
});
