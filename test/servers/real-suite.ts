import type { TestFn } from 'ava';
import { processEnv } from '@agent-workflow/kit/env';
import type { Launcher } from './real.ts';

/**
 * Declares a suite that needs a real server. `server` opens it at its first call and gives the same one to the whole file,
 * which lets go of it after its last test. Where the server is absent, the suite is one skipped test that says why; with
 * `REQUIRE_SERVERS=1` that test fails.
 */
export function withServer<S>(test: TestFn, launcher: Launcher<S>, suite: (server: () => Promise<S>) => void): void {
  const absence = launcher.absence();
  if (absence !== undefined) {
    if (processEnv()['REQUIRE_SERVERS'] === '1') test(absence, (t) => t.fail(absence));
    else test.skip(absence, () => undefined);
    return;
  }
  let opening: Promise<S & AsyncDisposable> | undefined;
  test.after.always(async () => (await opening?.catch(() => undefined))?.[Symbol.asyncDispose]());
  suite(() => (opening ??= launcher.open()));
}
