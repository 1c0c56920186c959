import { unavailable } from '@agent-workflow/kit/errors';
import { loadExport, misnamed } from '@agent-workflow/runtime/load';
import type { AuthorizationBackend } from './backend.ts';
import type { Authorize } from '../http/access.ts';
import { withTimeout } from './with-timeout.ts';

interface AuthorizationOptions {
  /** `<module>:<object>`, relative to `folder`. */
  readonly location: string;
  readonly folder: string;
  readonly timeoutMs: number;
}

/**
 * Loads the authorization backend that `service.json` names. A backend that throws, is late, or returns anything but a boolean
 * makes the request fail with `Unavailable`.
 * @throws ConfigError with the reason why the backend cannot be loaded.
 */
export async function loadAuthorization({ location, folder, timeoutMs }: AuthorizationOptions): Promise<Authorize> {
  const named = { what: 'authorization', location, folder };
  const backend = await loadExport(named);
  const { authorize: decides, needsAgent = false } = (
    isObject(backend) ? backend : {}
  ) as Partial<AuthorizationBackend>;
  if (typeof decides !== 'function') throw misnamed(named, 'must be an object with a function "authorize"');
  if (typeof needsAgent !== 'boolean') throw misnamed(named, 'has a needsAgent that is neither true nor false');
  const authorize: Authorize = async ({ user = {} }, resource, action, subject = {}) => {
    // Each call has a copy of its own: what the backend changes in it reaches nobody.
    const given = [structuredClone(user), resource, action, ...(needsAgent ? [{ ...subject }] : [])];
    const isAllowed = await decide(() => Reflect.apply(decides, backend, given) as unknown, timeoutMs);
    if (typeof isAllowed === 'boolean') return isAllowed;
    throw failed(new TypeError(`authorize returned ${typeof isAllowed}, not a boolean`));
  };
  return Object.assign(authorize, { needsAgent });
}

/** Where no backend decides, callers from other machines deploy no agents. */
export const withoutDeployment: Authorize = (_principal, resource, action) =>
  Promise.resolve(resource !== 'agents' || action !== 'deploy');

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

async function decide(authorize: () => unknown, timeoutMs: number): Promise<unknown> {
  try {
    return await withTimeout(authorize, timeoutMs);
  } catch (error) {
    throw failed(error);
  }
}

const failed = (cause: unknown): Error =>
  unavailable('the authorization backend did not decide; try again later', cause);
