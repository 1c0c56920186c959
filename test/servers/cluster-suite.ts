import type { TestFn } from 'ava';
import { processEnv } from '@agent-workflow/kit/env';
import { clusterAbsence } from './cluster-ground.ts';
import { openCluster, type Cluster, type ClusterOptions } from './cluster.ts';
import { byLoad } from '../by-load.ts';

/**
 * Declares a suite on a cluster, which is opened before its first test and ended after its last. It takes long, and is left to
 * `npm run test:cluster`: elsewhere it is one skipped test that says so. Where a server that it stands on is absent, the suite
 * is one skipped test that says why; with `REQUIRE_SERVERS=1` that test fails. Options that take something to be opened are made
 * by a function, which is called only where the suite runs.
 */
export function withCluster(
  test: TestFn,
  options: ClusterOptions | (() => Promise<ClusterOptions>),
  suite: (cluster: () => Cluster) => void,
): void {
  if (processEnv()['SHAPE'] !== 'cluster') {
    test.skip('a cluster of processes is tested by `npm run test:cluster`', () => undefined);
    return;
  }
  const absence = clusterAbsence();
  if (absence !== undefined) {
    if (processEnv()['REQUIRE_SERVERS'] === '1') test(absence, (t) => t.fail(absence));
    else test.skip(absence, () => undefined);
    return;
  }
  let opened: Cluster | undefined;
  test.serial.before(async (t) => {
    t.timeout(byLoad(startMs));
    opened = await openCluster(typeof options === 'function' ? await options() : options);
  });
  test.after.always(async () => opened?.[Symbol.asyncDispose]());
  suite(() => {
    if (!opened) throw new Error('the cluster is not open');
    return opened;
  });
}

/** A dozen processes on a machine that is busy. */
const startMs = 120_000;
