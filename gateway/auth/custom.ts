import { parse } from 'node:querystring';
import { fromUnknown, ServiceError } from '@agent-workflow/kit/errors';
import { anonymousOwner } from '@agent-workflow/kit/ids';
import { loadExport, misnamed, oneLine, type Named } from '@agent-workflow/runtime/load';
import type { AuthRequest, AuthResponse, UserContext } from './backend.ts';
import type { Authenticate } from '../http/access.ts';
import type { Context, Principal } from '../http/context.ts';
import { HttpRefusal } from '../http/http-refusal.ts';
import { bearerOf } from './bearer.ts';
import { withTimeout } from './with-timeout.ts';
import { principalOf, userCopy } from './user.ts';

interface CustomOptions {
  /** `<module>:<class>`, relative to `folder`. */
  readonly location: string;
  readonly folder: string;
  readonly timeoutMs: number;
}

/** The backend's `authenticate`. */
type Method = (...args: unknown[]) => unknown;

/**
 * Loads the authentication backend that `service.json` names, and authenticates callers with it.
 * @throws ConfigError with the reason why the backend cannot be loaded.
 */
export async function loadCustom({ location, folder, timeoutMs }: CustomOptions): Promise<Authenticate> {
  const { backend, method } = await makeBackend({ what: 'auth.path', location, folder });
  const takesRequest = method.length === 1;
  return async (ctx) => {
    const args = takesRequest ? [requestOf(ctx)] : [responseOf(ctx), credentialsOf(ctx)];
    const principal = await withTimeout(
      () => principalFrom(() => method.apply(backend, args), takesRequest),
      timeoutMs,
    );
    if (!principal) throw new ServiceError('Unauthenticated', 'the credentials were refused');
    return principal;
  };
}

interface Backend {
  readonly backend: object;
  readonly method: Method;
}

async function makeBackend(named: Named): Promise<Backend> {
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

/** Of its own: what a backend changes in it does not change which endpoint the request is for, or what it says. */
const requestOf = (ctx: Context): AuthRequest => ({
  headers: { ...ctx.headers },
  method: ctx.method,
  path: ctx.path,
  query: parse(ctx.querystring),
  ip: ctx.ip,
});

const responseOf = (ctx: Context): AuthResponse => ({
  set: (name, value) => ctx.set(name, value),
  cookies: ctx.cookies,
});

function credentialsOf(ctx: Context) {
  const credentials = bearerOf(ctx);
  return credentials === undefined ? null : { scheme: 'Bearer', credentials };
}

/** The answer is read at once: before anything else is awaited, which would ask it for a `then` again, and before the backend changes it. */
async function principalFrom(authenticate: () => unknown, takesRequest: boolean): Promise<Principal | undefined> {
  let answer: unknown;
  try {
    answer = await authenticate();
  } catch (error) {
    throw refusalOf(error) ?? fromUnknown(new Error('authenticate failed', { cause: error }));
  }
  return answer === null || answer === undefined ? undefined : toPrincipal(answer, takesRequest);
}

/** The refusal for a thrown value with a `status` of 400 to 499; `undefined` for any other, and for one that cannot be read. */
function refusalOf(error: unknown): ServiceError | undefined {
  try {
    const { status, message } = error as { readonly status?: unknown; readonly message?: unknown };
    if (typeof status !== 'number' || !Number.isInteger(status) || status < 400 || status > 499) return undefined;
    return new HttpRefusal(status, typeof message === 'string' && message !== '' ? message : 'refused');
  } catch {
    return undefined;
  }
}

function toPrincipal(answer: unknown, takesRequest: boolean): Principal {
  const user = userOf(answer);
  if (isObject(user)) {
    if (!takesRequest && isEmpty(answer)) return { owner: anonymousOwner };
    const principal = principalOf(user);
    if (principal) return principal;
  }
  throw fromUnknown(new TypeError('authenticate returned a user without a valid user_id or sub'));
}

/** Whether there is nothing in it at all, also nothing that its copy leaves out. */
const isEmpty = (answer: unknown): boolean => Reflect.ownKeys(answer as object).length === 0;

/** The user context as plain data. What is none is the backend's fault: 500. */
function userOf(answer: unknown): unknown {
  try {
    return userCopy(answer);
  } catch (error) {
    throw fromUnknown(new TypeError('authenticate returned what is no plain data', { cause: error }));
  }
}

const isObject = (value: unknown): value is UserContext =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
