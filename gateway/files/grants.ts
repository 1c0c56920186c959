import type { IncomingHttpHeaders } from 'node:http';
import { createSeal } from '@agent-workflow/kit/seal';
import { createGrants, type Grants } from '@agent-workflow/protos/grants';
import {
  maxRunFileGrant,
  runFileSchemes,
  runFilesPurpose,
  runFileUseHeader,
  toRunFileGrant,
  toRunFileUse,
  type RunFileGrant,
} from '@agent-workflow/protos/run-files';

/** Reads what the worker that sends a request may do with files. `undefined` when it shows nothing that is valid now. */
export type ReadGrant = (headers: IncomingHttpHeaders) => RunFileGrant | undefined;

interface ReadGrantOptions {
  /** What workers of the platform seal with. */
  readonly secrets: readonly [string, ...string[]];
  /** What grants of runs are signed with. Absent: workers of pools reach no files. */
  readonly grantSecrets?: readonly [string, ...string[]] | undefined;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

export function createReadGrant({ secrets, grantSecrets, now = Date.now }: ReadGrantOptions): ReadGrant {
  const { open } = createSeal(secrets, runFilesPurpose);
  const grants = grantSecrets && createGrants(grantSecrets, now);

  const readSealed = (sealed: string): RunFileGrant | undefined => {
    const text = sealed.length > maxRunFileGrant ? undefined : open(sealed);
    return text === undefined ? undefined : toRunFileGrant(text, now());
  };

  return (headers) => {
    const { authorization = '', [runFileUseHeader]: use } = headers;
    const sealed = shownUnder(runFileSchemes.sealed, authorization);
    if (sealed !== undefined) return readSealed(sealed);
    const token = shownUnder(runFileSchemes.run, authorization);
    return grants && token !== undefined && typeof use === 'string' ? readShown(grants, token, use) : undefined;
  };
}

/** What an `Authorization` shows under a scheme, whose name has no case (RFC 9110); `undefined` under another scheme. */
const shownUnder = (scheme: string, authorization: string): string | undefined =>
  authorization.slice(0, scheme.length).toLowerCase() === scheme.toLowerCase()
    ? authorization.slice(scheme.length).trimStart()
    : undefined;

/** What the holder of a run's grant asks for, for that run alone. */
function readShown(grants: Grants, token: string, useText: string): RunFileGrant | undefined {
  const granted = grants.read(token);
  const use = toRunFileUse(useText);
  if (!granted || !use || grants.isExpired(granted)) return undefined;
  const { owner, runId, epoch } = granted;
  return { ...use, owner, runId, epoch };
}
