import {
  BaseAuth,
  type Answer,
  type AuthRequest,
  type AuthResponse,
  type Credentials,
} from '@agent-workflow/gateway/auth';

/** An error as HTTP libraries throw it. */
const withStatus = (status: unknown, message: string): Error => Object.assign(new Error(message), { status });

/** What each word makes a backend do. */
function act(order: string | undefined): Answer | Promise<Answer> {
  const [word = '', operand = ''] = order?.split(' ') ?? [];
  if (word === 'user') return { user_id: operand, roles: ['reader'] };
  if (word === 'later') return new Promise((resolve) => setImmediate(resolve, { user_id: operand }));
  if (word === 'sub') return { sub: operand };
  if (word === 'large') return { user_id: 'ada', note: 'n'.repeat(Number(operand)) };
  if (word === 'json') return JSON.parse(operand) as Answer;
  if (word === 'null') return null;
  if (word === 'status') throw withStatus(Number(operand), 'the badge has expired');
  if (word === 'reject') return Promise.reject(withStatus(Number(operand), 'the badge has expired'));
  if (word === 'text') throw withStatus(operand, 'secret of the backend');
  if (word === 'throw') throw new Error('secret of the backend');
  if (word === 'never') return new Promise(() => undefined);
  return undefined;
}

/** The request form: does what the header `x-order` says. */
export class ByRequest extends BaseAuth {
  readonly #prefix = 'by';

  override authenticate(request: AuthRequest): Answer | Promise<Answer> {
    const { method, path, query, ip } = request;
    if (request.headers['x-order'] !== 'echo') return act(String(request.headers['x-order']));
    return { user_id: `${this.#prefix} ${ip}`, method, path, query: { ...query } };
  }
}

/** The credentials form: does what the token says, which is the base64url text of an order. */
export class ByCredentials extends BaseAuth {
  override authenticate(response: AuthResponse, credentials: Credentials | null): Answer | Promise<Answer> {
    response.set('x-checked', credentials === null ? 'nothing' : credentials.scheme);
    response.cookies.set('seen', 'yes', { httpOnly: true });
    return credentials === null ? null : act(Buffer.from(credentials.credentials, 'base64url').toString());
  }
}

/** Changes all that it is given. */
export class Meddling extends BaseAuth {
  override authenticate(request: AuthRequest): Answer {
    const given = request as { path: string; method: string };
    given.path = '/v1/threads/other';
    given.method = 'DELETE';
    request.headers['content-type'] = 'text/plain';
    request.query['limit'] = '0';
    return { user_id: 'ada' };
  }
}

/** A class that does not extend anything, as plain JavaScript may write it. */
export class Unrelated {
  authenticate(_request: AuthRequest): Answer {
    return { user_id: 'ada' };
  }
}

export class Nothing {
  readonly authenticate = 'no method';
}

export class TakesNone {
  authenticate(): Answer {
    return { user_id: 'ada' };
  }
}

export class Throws extends Unrelated {
  constructor() {
    super();
    throw new TypeError('no directory is set');
  }
}

export const object = new Unrelated();
