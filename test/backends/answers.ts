import * as path from 'node:path';
import {
  BaseAuth,
  type Answer,
  type AuthorizationBackend,
  type AuthRequest,
  type AuthResponse,
  type Credentials,
  type UserContext,
} from '@agent-workflow/gateway/auth';

/** A row as a mapper of a database gives it: a class whose objects have their own fields. */
class Row {
  readonly user_id = 'ada';
  readonly roles = ['reader'];

  label(): string {
    return this.user_id;
  }
}

class SubRow extends Row {
  readonly team = 'blue';

  toJSON(): unknown {
    return { user_id: 'bob' };
  }
}

class Getters {
  readonly #id = 'ada';

  get user_id(): string {
    return this.#id;
  }
}

/** As Mongoose makes documents: the fields are accessors of the class, and what they read is a member. */
class Document {
  readonly $isNew = false;
  readonly sub = 'cy';
  readonly _doc = { user_id: 'ada' };

  get user_id(): string {
    return this._doc.user_id;
  }
}

class OldRow {
  readonly user_id = 'ada';
}
Object.assign(OldRow.prototype, { roles: ['admin'] });

class Nothing {
  isNobody(): boolean {
    return Object.keys(this).length === 0;
  }
}

class Late extends Date {
  override toISOString(): string {
    return 'never';
  }

  override getTime(): number {
    return 0;
  }
}

const at = (): Date => new Date(Date.UTC(2026, 0, 2));

/** An object that gives another id each time that it is asked. */
function changing(): object {
  let asked = 0;
  return Object.defineProperty({ roles: [] }, 'user_id', {
    enumerable: true,
    get: () => ['ada', 'bob', 'cy'][asked++ % 3],
  });
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({ user_id: 'ada' }, {});
  revoke();
  return proxy;
}

function deep(levels: number): object {
  let value: object = {};
  for (let level = 1; level < levels; level += 1) value = { value };
  return value;
}

function cycle(): object {
  const user: Record<string, unknown> = { user_id: 'ada' };
  user['self'] = user;
  return user;
}

/** Small in memory, and of 2 to the power of 40 texts as JSON. */
function laughs(): object {
  let value: unknown = 'ha';
  for (let level = 0; level < 40; level += 1) value = [value, value];
  return { user_id: 'ada', value };
}

/** The backend keeps what it returned, and changes it while the request is under way. */
function kept(): object {
  const user = { user_id: 'ada', roles: ['reader'] };
  const change = (): void => {
    user.user_id = 'bob';
    user.roles.push('admin');
  };
  // Once what waits for the answer has gone on, and before a body is read.
  queueMicrotask(() => {
    process.nextTick(change);
  });
  return user;
}

const cached = { user_id: 'ada', roles: ['reader'] };

/** As a query of Knex or Mongoose: it is asked when it is awaited. Each time it finds another user. */
function query(): object {
  let asked = 0;
  return { then: (found: (user: object) => void) => found({ user_id: ['ada', 'bob'][asked++] }) };
}

/** What is awaited twice would be something else the second time. */
function lateThenable(): object {
  let asked = 0;
  return Object.defineProperty({ user_id: 'ada' }, 'then', {
    get: () => (asked++ === 0 ? undefined : (found: (user: object) => void) => found({ user_id: 'bob' })),
  });
}

function fail(thrown: unknown): never {
  throw thrown;
}

function changingError(): object {
  let asked = 0;
  return Object.defineProperty({ message: 'the credentials were refused' }, 'status', {
    get: () => [401, 200][asked++ % 2],
  });
}

/** What a backend returns or throws, by name. */
export const answers = {
  plain: () => ({ user_id: 'ada', roles: ['reader'] }),
  'a sub alone': () => ({ sub: 'ada' }),
  'user_id null beside a sub': () => ({ user_id: null, sub: 'ada' }),
  'user_id undefined beside a sub': () => ({ user_id: undefined, sub: 'ada' }),
  'a number': () => ({ user_id: 7 }),
  'minus zero': () => ({ user_id: -0 }),
  'without a prototype': () => Object.assign(Object.create(null) as object, { user_id: 'ada', more: { a: 1 } }),
  frozen: () => Object.freeze({ user_id: 'ada' }),
  'a promise': () => Promise.resolve({ user_id: 'ada' }),
  'a query': query,
  'the row of a mapper': () => new Row(),
  'a row with toJSON': () => new SubRow(),
  'own toJSON': () => ({ user_id: 'ada', toJSON: () => ({ user_id: 'bob', thread_id: 'theirs' }) }),
  'a text as toJSON and then': () => ({
    user_id: 'ada',
    toJSON: 'a',
    then: 'b',
    constructor: 'c',
    hasOwnProperty: 'd',
  }),
  'a Date inside': () => ({ user_id: 'ada', since: at() }),
  'a Date with other methods': () => ({ user_id: 'ada', since: new Late(at()) }),
  'undefined inside': () => ({ user_id: 'ada', team: undefined, more: { nick: undefined } }),
  'functions and symbols': () => ({ user_id: 'ada', may: () => true, kind: Symbol('a'), [Symbol('b')]: 1 }),
  'a hidden member': () => Object.defineProperty({ user_id: 'ada' }, 'columns', { value: ['user_id'] }),
  'empty objects inside': () => ({ user_id: 'ada', tags: [], more: {}, none: null, yes: true }),
  'one object twice': () => ((team) => ({ user_id: 'ada', team, teams: [team] }))({ name: 'blue' }),
  'a hundred levels': () => ({ user_id: 'ada', value: deep(100) }),
  'kept and changed': kept,
  cached: () => cached,
  'an id of the longest length': () => ({ user_id: 'a'.repeat(256) }),

  'own members that are nothing': () => ({ user_id: undefined }),
  'a function as only member': () => ({ authenticate: () => true }),
  'a symbol as only key': () => ({ [Symbol('user_id')]: 'ada' }),
  'a hidden id': () => Object.defineProperty({}, 'user_id', { value: 'ada' }),
  'an own getter': () => ({
    get user_id() {
      return 'ada';
    },
  }),
  'a changing getter': changing,
  'a hidden getter': () => Object.defineProperty({ user_id: 'ada' }, 'roles', { get: () => ['admin'] }),
  'a getter inside': () => ({ user_id: 'ada', more: changing() }),
  'a class with getters': () => new Getters(),
  'a document with accessors': () => new Document(),
  'a class that has data itself': () => new OldRow(),
  'an object of an empty class': () => new Nothing(),
  'an empty class inside': () => ({ user_id: 'ada', more: new Nothing() }),
  'an inherited id': () => Object.create({ user_id: 'ada' }) as object,
  'inherited roles': () => Object.assign(Object.create({ roles: ['admin'] }) as object, { user_id: 'ada' }),
  'a Map': () => new Map([['user_id', 'ada']]),
  'a Set': () => new Set(['ada']),
  'a Map inside': () => ({ user_id: 'ada', roles: new Map([['admin', false]]) }),
  'a Map with members': () => Object.assign(new Map(), { user_id: 'ada' }),
  'an Error': () => new Error('secret of the backend'),
  'an Error with members': () => Object.assign(new TypeError('secret of the backend'), { user_id: 'ada', status: 401 }),
  'a DOMException': () => new DOMException('secret of the backend', 'AbortError'),
  'a Response': () => new Response('no', { status: 401 }),
  'a Response with members': () => Object.assign(new Response('no', { status: 401 }), { user_id: 'ada' }),
  Headers: () => new Headers({ user_id: 'ada' }),
  'a URL': () => new URL('user:ada'),
  'URLSearchParams inside': () => ({ user_id: 'ada', more: new URLSearchParams('role=admin') }),
  'a Date': at,
  'an invalid Date': () => ({ user_id: 'ada', since: new Date(Number.NaN) }),
  'a RegExp': () => ({ user_id: 'ada', paths: /a/ }),
  'a generator': () => ({
    user_id: 'ada',
    roles: (function* roles() {
      yield 'admin';
    })(),
  }),
  'a promise inside': () => ({ user_id: 'ada', roles: Promise.resolve(['admin']) }),
  'a module': () => path,
  'a list': () => [],
  'a list with members': () => Object.assign(['ada'], { user_id: 'ada' }),
  'a list with a hole': () => ({ user_id: 'ada', roles: Array(3) }),
  'a list of four thousand million holes': () => ({ user_id: 'ada', roles: Array(2 ** 32 - 1) }),
  'undefined in a list': () => ({ user_id: 'ada', roles: ['reader', undefined] }),
  'a function in a list': () => ({ user_id: 'ada', roles: [() => true] }),
  'a getter in a list': () => ({ user_id: 'ada', roles: Object.defineProperty([''], 0, { get: () => 'admin' }) }),
  bytes: () => ({ user_id: 'ada', key: new Uint8Array(2) }),
  'a Buffer as id': () => ({ user_id: Buffer.from('ada') }),
  'a function': () => () => ({ user_id: 'ada' }),
  'a function with members': () => Object.assign(() => 1, { user_id: 'ada' }),
  'a class': () => Row,
  'a text': () => 'ada',
  'a boxed text': () => new String('ada'),
  'a boxed id': () => ({ user_id: new String('ada') }),
  true: () => true,
  zero: () => 0,
  'an empty text': () => '',
  'a symbol': () => Symbol('ada'),
  'a bigint': () => 7n,
  'a bigint as id': () => ({ user_id: 7n }),
  'NaN inside': () => ({ user_id: 'ada', quota: Number.NaN }),
  'Infinity inside': () => ({ user_id: 'ada', quota: Infinity }),
  'a Proxy': () => new Proxy({ user_id: 'ada' }, {}),
  'an empty Proxy': () => new Proxy({}, {}),
  'a revoked Proxy': revoked,
  'a Proxy of a list': () => ({ user_id: 'ada', roles: new Proxy(['admin'], {}) }),
  'a Proxy behind an object': () => Object.assign(Object.create(new Proxy({}, {})) as object, { user_id: 'ada' }),
  'a promise of a Proxy': () => Promise.resolve(new Proxy({ user_id: 'ada' }, {})),
  'awaited twice': lateThenable,
  'a cycle': cycle,
  'two hundred levels': () => ({ user_id: 'ada', value: deep(200) }),
  'a hundred thousand levels': () => ({ user_id: 'ada', value: deep(100_000) }),
  'small but endless': laughs,
  'a long text': () => ({ user_id: 'ada', note: 'n'.repeat(300_000) }),
  'a text that is long as JSON': () => ({ user_id: 'ada', note: '\u0001'.repeat(60_000) }),
  'the key __proto__': () => JSON.parse('{"user_id":"ada","__proto__":{"roles":["admin"]}}') as object,
  'a list as id': () => ({ user_id: ['ada'] }),
  'an object as id': () => ({ user_id: { toString: 'ada', id: 'ada' } }),
  'false as id': () => ({ user_id: false, sub: 'ada' }),
  'an empty id': () => ({ user_id: '', sub: 'ada' }),
  'an id with a line break': () => ({ user_id: 'ada\n' }),
  'an id with a hidden character': () => ({ user_id: 'a\u200bda' }),
  'an id with half a character': () => ({ user_id: 'ada\ud800' }),
  'an id with space around': () => ({ user_id: ' ada' }),
  'an id that is too long': () => ({ user_id: 'a'.repeat(257) }),
  'half a number': () => ({ user_id: 1.5 }),
  'a number beyond the safe ones': () => ({ user_id: 2 ** 53 }),

  'throws a revoked Proxy': () => fail(revoked()),
  'throws a Proxy that poses as an error of the service': () =>
    fail(new Proxy({ status: 500, message: 'secret of the backend' }, { getPrototypeOf: () => fail(revoked()) })),
  'throws null': () => fail(null),
  'throws what has a getter as status': () =>
    fail(Object.defineProperty({}, 'status', { get: () => fail(new Error('secret of the backend')) })),
  'rejects with a Proxy': () => Promise.resolve().then(() => fail(revoked())),
  'throws a status that changes': () => fail(changingError()),

  nothing: () => undefined,
  null: () => null,
  'an empty object': () => ({}),
  'an empty object without a prototype': () => Object.create(null) as object,
} satisfies Readonly<Record<string, () => unknown>>;

export type Form = keyof typeof answers;

const give = (form: unknown): Answer => answers[decodeURIComponent(String(form)) as Form]();

export class Asked extends BaseAuth {
  override authenticate({ headers }: AuthRequest): Answer {
    return give(headers['x-form']);
  }
}

export class Entrusted extends BaseAuth {
  override authenticate(_response: AuthResponse, credentials: Credentials | null): Answer {
    return give(credentials === null ? 'nothing' : Buffer.from(credentials.credentials, 'base64url').toString());
  }
}

/** Allows everything, and changes whatever it is given. */
export const grasping: AuthorizationBackend & { readonly seen: unknown[] } = {
  seen: [],
  needsAgent: true,
  authorize(user: UserContext, _resource, _action, subject): Promise<boolean> {
    this.seen.push(structuredClone({ user, subject }));
    const taken = user as Record<string, unknown>;
    taken['user_id'] = 'bob';
    (taken['roles'] as string[] | undefined)?.push('admin');
    if (subject) Object.assign(subject, { agent: 'other', thread_id: 'theirs' });
    return Promise.resolve(true);
  },
};
