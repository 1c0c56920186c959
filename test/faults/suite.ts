import type { TestFn } from 'ava';
import { processEnv } from '@agent-workflow/kit/env';
import { clusterAbsence } from '../servers/cluster-ground.ts';
import type { Launcher } from '../servers/real.ts';
import { withServer } from '../servers/real-suite.ts';

const leftOut = 'faults are tested by `npm run test:faults`';

let isLeftOut = false;

/** Declares tests that `npm run test:faults` runs; elsewhere they are one skipped test that says so. */
export function withFaults(test: TestFn, suite: () => void): void {
  if (processEnv()['FAULTS'] === '1') suite();
  else if (!isLeftOut) test.skip(leftOut, () => undefined);
  isLeftOut = true;
}

/** The same for tests that need a real server; with `REQUIRE_SERVERS=1` they fail where it is absent. */
export function withFaultsOf<S>(test: TestFn, launcher: Launcher<S>, suite: (server: () => Promise<S>) => void): void {
  withFaults(test, () => withServer(test, launcher, suite));
}

/** The same for tests that need every server of a cluster, which they open themselves. */
export function withFaultsOfCluster(test: TestFn, suite: () => void): void {
  withFaults(test, () => {
    const absence = clusterAbsence();
    if (absence === undefined) suite();
    else if (processEnv()['REQUIRE_SERVERS'] === '1') test(absence, (t) => t.fail(absence));
    else test.skip(absence, () => undefined);
  });
}
