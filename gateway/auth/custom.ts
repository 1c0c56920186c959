import { fromUnknown, ServiceError } from '@agent-workflow/kit/errors';
import { anonymousOwner } from '@agent-workflow/kit/ids';
import { loadExport, misnamed, oneLine, type Named } from '@agent-workflow/runtime/load';
import { sizes } from '@agent-workflow/kit/sizes';
import type { AuthResponse, UserContext } from './backend.ts';
import type { Authenticate } from '../http/access.ts';
import type { Context } from '../http/context.ts';
import type { Principal } from '../http/principal.ts';
import { HttpRefusal } from '../http/http-refusal.ts';
import { jsonBytes } from '../http/json.ts';
import { bearerOf } from './bearer.ts';
import { inTime } from './in-time.ts';
import { principalOf } from './user.ts';

export interface CustomOptions {
  /** `<module>:<class>`, relative to `folder`. */
  readonly location: string;
  readonly folder: string;
  readonly timeoutMs: number;
}

/** The backend's method, bound; how many parameters it declares tells its form. */
type Method = (...given: unknown[]) => unknown;

/**
 * Loads and makes the backend that `service.json` names, and asks it who calls.
 * @throws ConfigError: one line that says why there is no such backend.
 */
export async function loadCustom({ location, folder, timeoutMs }: CustomOptions): Promise<Authenticate> {
  const { backend, method } = await makeBackend({ what: 'auth.path', location, folder });
  const takesRequest = method.length === 1;
  return async (ctx) => {
    const given = takesRequest ? [ctx.request] : [responseOf(ctx), credentialsOf(ctx)];
    const user = await answerOf(() => method.apply(backend, given), timeoutMs);
    if (user === null || user === undefined) throw new ServiceError('Unauthenticated', 'the caller is not known');
    return toPrincipal(user, takesRequest);
  };
}

interface Made {
  readonly backend: object;
  readonly method: Method;
}

async function makeBackend(named: Named): Promise<Made> {
  const made = make(named, await loadExport(named));
  const method: unknown = 'authenticate' in made ? made.authenticate : undefined;
  if (typeof method !== 'function') throw misnamed(named, 'has no method "authenticate"');
  if (method.length === 1 || method.length === 2) return { backend: made, method: method as Method };
  throw misnamed(named, `"authenticate" must declare one parameter or two, not ${method.length}`);
}

function make(named: Named, Backend: unknown): object {
  if (typeof Backend !== 'function') throw misnamed(named, 'is not a class');
  try {
    return new (Backend as new () => object)();
  } catch (error) {
    throw misnamed(named, `cannot be made: ${oneLine(error)}`);
  }
}

const responseOf = (ctx: Context): AuthResponse => ({
  set: (name, value) => ctx.set(name, value),
  cookies: ctx.cookies,
});

function credentialsOf(ctx: Context) {
  const credentials = bearerOf(ctx);
  return credentials === undefined ? null : { scheme: 'Bearer', credentials };
}

async function answerOf(authenticate: () => unknown, timeoutMs: number): Promise<unknown> {
  try {
    return await inTime(authenticate, timeoutMs);
  } catch (error) {
    throw refusalOf(error) ?? fromUnknown(error);
  }
}

/** What a backend throws to refuse: anything with a `status` of 400 to 499. */
function refusalOf(error: unknown): ServiceError | undefined {
  if (typeof error !== 'object' || error === null || !('status' in error)) return undefined;
  const { status } = error;
  if (typeof status !== 'number' || !Number.isInteger(status) || status < 400 || status > 499) return undefined;
  const message = 'message' in error && typeof error.message === 'string' ? error.message : '';
  return new HttpRefusal(status, message || 'refused');
}

function toPrincipal(user: unknown, takesRequest: boolean): Principal {
  if (isObject(user)) {
    if (!takesRequest && Object.keys(user).length === 0) return { owner: anonymousOwner };
    const principal = principalOf(user);
    if (principal) return bounded(principal);
  }
  throw fromUnknown(new TypeError('authenticate gave a user without a user_id or sub that can name an owner'));
}

/** The user context goes with every run that its caller starts. One that does not fit is the backend's fault, not the caller's. */
function bounded(principal: Principal): Principal {
  const bytes = jsonBytes(principal.user).length;
  if (bytes <= sizes.metadata) return principal;
  throw fromUnknown(
    new RangeError(`authenticate gave a user of ${String(bytes)} bytes as JSON, more than ${String(sizes.metadata)}`),
  );
}

const isObject = (value: unknown): value is UserContext =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
