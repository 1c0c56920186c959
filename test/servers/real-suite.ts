import type { TestFn } from 'ava';
import { processEnv } from '@agent-workflow/kit/env';
import type { Launcher } from './real.ts';

/** Why suites of this file do not run, each said by one test: a file has a process or thread of its own. */
const reported = new Set<string>();

/**
 * Declares a suite that needs a real server. `server` opens it at its first call and gives the same one to the whole file,
 * which lets go of it after its last test. Where the server is absent, the suite is one skipped test that says why; with
 * `REQUIRE_SERVERS=1` that test fails.
 */
export function withServer<S>(test: TestFn, launcher: Launcher<S>, suite: (server: () => Promise<S>) => void): void {
  const absence = launcher.absence();
  if (absence !== undefined) {
    if (reported.has(absence)) return;
    reported.add(absence);
    if (processEnv()['REQUIRE_SERVERS'] === '1') test(absence, (t) => t.fail(absence));
    else test.skip(absence, () => undefined);
    return;
  }
  let opening: Promise<S & AsyncDisposable> | undefined;
  test.after.always(async () => (await opening?.catch(() => undefined))?.[Symbol.asyncDispose]());
  suite(() => (opening ??= launcher.open()));
}

/**
 * The same for a suite that takes long, so that whoever changes something need not wait for it: it is left to
 * `npm run test:campaigns`, which CI runs. Elsewhere a file of such suites is one skipped test that says so.
 */
export function withServerForLong<S>(...[test, launcher, suite]: Parameters<typeof withServer<S>>): void {
  if (processEnv()['CAMPAIGNS'] === '1') {
    withServer(test, launcher, suite);
    return;
  }
  if (!reported.has(leftOut)) test.skip(leftOut, () => undefined);
  reported.add(leftOut);
}

const leftOut = 'what takes long is tested by `npm run test:campaigns`';
