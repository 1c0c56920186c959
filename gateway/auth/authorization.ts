import { unavailable } from '@agent-workflow/kit/errors';
import { loadExport, misnamed } from '@agent-workflow/runtime/load';
import type { AuthorizationBackend } from './backend.ts';
import type { Authorize } from '../http/access.ts';
import { inTime } from './in-time.ts';

export interface AuthorizationOptions {
  /** `<module>:<object>`, relative to `folder`. */
  readonly location: string;
  readonly folder: string;
  readonly timeoutMs: number;
}

/**
 * Loads the backend that `service.json` names. What it answers is taken as it is; when it fails, is late, or answers
 * anything but a boolean, nobody passes.
 * @throws ConfigError: one line that says why there is no such backend.
 */
export async function loadAuthorization({ location, folder, timeoutMs }: AuthorizationOptions): Promise<Authorize> {
  const named = { what: 'authorization', location, folder };
  const backend = await loadExport(named);
  if (!isBackend(backend)) throw misnamed(named, 'must be an object with a function "authorize"');
  return async ({ user = {} }, resource, action) => {
    const answer = await ask(() => backend.authorize(user, resource, action), timeoutMs);
    if (typeof answer === 'boolean') return answer;
    throw failed(new TypeError(`authorize answered ${typeof answer}, not a boolean`));
  };
}

const isBackend = (value: unknown): value is AuthorizationBackend =>
  typeof value === 'object' && value !== null && 'authorize' in value && typeof value.authorize === 'function';

async function ask(authorize: () => unknown, timeoutMs: number): Promise<unknown> {
  try {
    return await inTime(authorize, timeoutMs);
  } catch (error) {
    throw failed(error);
  }
}

const failed = (cause: unknown): Error => unavailable('whether this is allowed cannot be said now', cause);
