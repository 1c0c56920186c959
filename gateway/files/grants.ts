import { createSeal } from '@agent-workflow/kit/seal';
import { maxRunFileGrant, runFilesPurpose, toRunFileGrant, type RunFileGrant } from '@agent-workflow/protos/run-files';

/** Reads what a worker may do with files, as the worker has sealed it. `undefined` for any other text, and at the end of its time. */
export type ReadGrant = (sealed: string) => RunFileGrant | undefined;

/** `now` gives milliseconds since 1970. */
export function createReadGrant(secrets: readonly [string, ...string[]], now: () => number = Date.now): ReadGrant {
  const { open } = createSeal(secrets, runFilesPurpose);
  return (sealed) => {
    const text = sealed.length > maxRunFileGrant ? undefined : open(sealed);
    return text === undefined ? undefined : toRunFileGrant(text, now());
  };
}
