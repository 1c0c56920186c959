import { createSeal } from '@agent-workflow/kit/seal';
import {
  fromRunFileGrant,
  fromRunFileUse,
  runFileGrantMs,
  runFileSchemes,
  runFilesPurpose,
  runFileUseHeader,
  type RunClaim,
  type RunFileUse,
} from '@agent-workflow/protos/run-files';

/** The headers by which a request to the gateway shows that it may be made. */
export type ShowUse = (claim: RunClaim, use: RunFileUse) => Promise<Readonly<Record<string, string>>>;

/** Of a worker of the platform: each request has a grant that is sealed here, good for ten minutes. The gateway has the same secrets. */
export function showSealed(secrets: readonly [string, ...string[]]): ShowUse {
  const { seal } = createSeal(secrets, runFilesPurpose);
  return ({ owner, runId, epoch }, use) => {
    const grant = { ...use, owner, runId, epoch, until: Date.now() + runFileGrantMs };
    return Promise.resolve({ authorization: `${runFileSchemes.sealed}${seal(fromRunFileGrant(grant))}` });
  };
}

/** Of a worker of a pool: each request shows the grant that came with the claim of the run. */
export function showGranted(tokenOf: (claim: RunClaim) => Promise<string>): ShowUse {
  return async (claim, use) => ({
    authorization: `${runFileSchemes.run}${await tokenOf(claim)}`,
    [runFileUseHeader]: fromRunFileUse(use),
  });
}
