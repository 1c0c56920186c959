import { processEnv } from '@agent-workflow/kit/env';
import test, { type ExecutionContext } from 'ava';
import { serve } from '../http/service.ts';
import { hasBrowser } from './browser.ts';

const env = processEnv();

/** Whether a run without a browser is a failure. */
const isRequired = env['REQUIRE_SERVERS'] === '1' && env['BROWSER'] === '1';

/**
 * Declares a test in a real browser. They run by `npm run test:browser`, one after another in a file, because each looks at
 * times that others beside it would change; without a Chromium they are skipped by name.
 */
export function browserTest(title: string, work: (t: ExecutionContext) => Promise<void>): void {
  if (env['BROWSER'] === '1' && (hasBrowser || isRequired)) test.serial(title, work);
  else test.serial.skip(`${title} (npm run test:browser, with Chromium)`, work);
}

/** A service whose pages a browser opens: to a page, all that has another address than its own is foreign. */
export function servePages(...options: Parameters<typeof serve>): ReturnType<typeof serve> {
  const service = serve(...options);
  return { ...service, url: service.origin };
}
