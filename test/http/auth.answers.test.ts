import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import test from 'ava';
import { answers, grasping, type Form } from '../backends/answers.ts';
import { addedConfig, createClient, user, type Client } from '../servers/client.ts';
import { makeWorkspace, startStandalone } from '../servers/standalone.ts';
import { encode } from '../servers/tokens.ts';
import { embeddedOnly, openShape } from './shape.ts';

const module = fileURLToPath(new URL('../backends/answers.ts', import.meta.url));
const custom = (name: string): Readonly<Record<string, unknown>> => ({
  auth: { method: 'custom', path: `${module}:${name}` },
});

/** A user is let in as `owner`, and nodes see it as `user`. */
interface LetIn {
  readonly owner: string | null;
  readonly user: Readonly<Record<string, unknown>>;
}

/** What is expected: a user, or a status and what the log says. */
type Expected = LetIn | readonly [status: number, logged: RegExp];

const ada = (more: Readonly<Record<string, unknown>> = {}): LetIn => ({
  owner: 'ada',
  user: { user_id: 'ada', ...more },
});

function levels(count: number): unknown {
  let value: unknown = {};
  for (let level = 1; level < count; level += 1) value = { value };
  return value;
}

const withoutId: Expected = [500, /a user without a valid user_id or sub/];
const ofClass = (name: string, path = 'the user'): Expected => [
  500,
  new RegExp(`${path} is an object of class ${name}`),
];
const accessor = (path: string): Expected => [500, new RegExp(`${path} is an accessor`)];
const isA = (path: string, what: string): Expected => [500, new RegExp(`${path} is ${what}`)];
const large: Expected = [500, /it has more than 262144 bytes as JSON/];
const deepest: Expected = [500, /nested more than 128 levels deep/];
const refused: Expected = [401, /"status":401/];
const thrown: Expected = [500, /authenticate failed/];

const expected: Readonly<Record<Form, Expected>> = {
  plain: ada({ roles: ['reader'] }),
  'a sub alone': { owner: 'ada', user: { sub: 'ada' } },
  'user_id null beside a sub': { owner: 'ada', user: { user_id: null, sub: 'ada' } },
  'user_id undefined beside a sub': { owner: 'ada', user: { sub: 'ada' } },
  'a number': { owner: '7', user: { user_id: 7 } },
  'minus zero': { owner: '0', user: { user_id: 0 } },
  'without a prototype': ada({ more: { a: 1 } }),
  frozen: ada(),
  'a promise': ada(),
  'a query': ada(),
  'the row of a mapper': ada({ roles: ['reader'] }),
  'a row with toJSON': ada({ roles: ['reader'], team: 'blue' }),
  'own toJSON': ada(),
  'a text as toJSON and then': ada({ toJSON: 'a', then: 'b', constructor: 'c', hasOwnProperty: 'd' }),
  'a Date inside': ada({ since: '2026-01-02T00:00:00.000Z' }),
  'a Date with other methods': ada({ since: '2026-01-02T00:00:00.000Z' }),
  'undefined inside': ada({ more: {} }),
  'functions and symbols': ada(),
  'a hidden member': ada(),
  'empty objects inside': ada({ tags: [], more: {}, none: null, yes: true }),
  'one object twice': ada({ team: { name: 'blue' }, teams: [{ name: 'blue' }] }),
  'a hundred levels': ada({ value: levels(100) }),
  'kept and changed': ada({ roles: ['reader'] }),
  cached: ada({ roles: ['reader'] }),
  'an id of the longest length': { owner: 'a'.repeat(256), user: { user_id: 'a'.repeat(256) } },

  'own members that are nothing': withoutId,
  'a function as only member': withoutId,
  'a symbol as only key': withoutId,
  'a hidden id': withoutId,
  'an own getter': accessor('user_id'),
  'a changing getter': accessor('user_id'),
  'a hidden getter': accessor('roles'),
  'a getter inside': accessor('more.user_id'),
  'a class with getters': isA('user_id', 'an accessor of class Getters'),
  'a document with accessors': isA('user_id', 'an accessor of class Document'),
  'a class that has data itself': [500, /the user is an object of class OldRow, which itself has the member roles/],
  'an object of an empty class': ofClass('Nothing, without a member of its own'),
  'an empty class inside': ofClass('Nothing, without a member of its own', 'more'),
  'an inherited id': [500, /the user is an object of a class, which itself has the member user_id/],
  'inherited roles': [500, /which itself has the member roles/],
  'a Map': ofClass('Map'),
  'a Set': ofClass('Set'),
  'a Map inside': ofClass('Map', 'roles'),
  'a Map with members': ofClass('Map'),
  'an Error': ofClass('Error'),
  'an Error with members': ofClass('TypeError'),
  'a DOMException': ofClass('DOMException'),
  'a Response': ofClass('Response'),
  'a Response with members': ofClass('Response'),
  Headers: ofClass('Headers'),
  'a URL': ofClass('URL'),
  'URLSearchParams inside': ofClass('URLSearchParams', 'more'),
  'a Date': withoutId,
  'an invalid Date': isA('since', 'an invalid Date'),
  'a RegExp': ofClass('RegExp', 'paths'),
  'a generator': [500, /roles is an object of a class/],
  'a promise inside': ofClass('Promise', 'roles'),
  'a module': [500, /the user is an object of a class/],
  'a list': withoutId,
  'a list with members': withoutId,
  'a list with a hole': isA('roles.0', 'a hole'),
  'a list of four thousand million holes': isA('roles.0', 'a hole'),
  'undefined in a list': isA('roles.1', 'undefined'),
  'a function in a list': isA('roles.0', 'a function'),
  'a getter in a list': accessor('roles.0'),
  bytes: ofClass('Uint8Array', 'key'),
  'a Buffer as id': ofClass('Buffer', 'user_id'),
  'a function': isA('the user', 'a function'),
  'a function with members': isA('the user', 'a function'),
  'a class': isA('the user', 'a function'),
  'a text': withoutId,
  'a boxed text': ofClass('String'),
  'a boxed id': ofClass('String', 'user_id'),
  true: withoutId,
  zero: withoutId,
  'an empty text': withoutId,
  'a symbol': isA('the user', 'a symbol'),
  'a bigint': isA('the user', 'a bigint'),
  'a bigint as id': isA('user_id', 'a bigint'),
  'NaN inside': isA('quota', 'NaN'),
  'Infinity inside': isA('quota', 'Infinity'),
  'a Proxy': isA('the user', 'a Proxy'),
  'an empty Proxy': isA('the user', 'a Proxy'),
  'a revoked Proxy': thrown,
  'a Proxy of a list': isA('roles', 'a Proxy'),
  'a Proxy behind an object': isA('the user', 'an object behind which is a Proxy'),
  'a promise of a Proxy': isA('the user', 'a Proxy'),
  'awaited twice': accessor('then'),
  'a cycle': deepest,
  'two hundred levels': deepest,
  'a hundred thousand levels': deepest,
  'small but endless': large,
  'a long text': large,
  'a text that is long as JSON': large,
  'the key __proto__': [500, /the user has the key __proto__/],
  'a list as id': withoutId,
  'an object as id': withoutId,
  'false as id': withoutId,
  'an empty id': withoutId,
  'an id with a line break': withoutId,
  'an id with a hidden character': withoutId,
  'an id with half a character': withoutId,
  'an id with space around': withoutId,
  'an id that is too long': withoutId,
  'half a number': withoutId,
  'a number beyond the safe ones': withoutId,

  'throws a revoked Proxy': thrown,
  'throws a Proxy that poses as an error of the service': thrown,
  'throws null': thrown,
  'throws what has a getter as status': thrown,
  'rejects with a Proxy': thrown,
  'throws a status that changes': refused,

  nothing: refused,
  null: refused,
  'an empty object': withoutId,
  'an empty object without a prototype': withoutId,
};

const forms = Object.keys(answers) as Form[];

const anonymous: LetIn = { owner: null, user: {} };
/** In the credentials form an object without any member is the anonymous owner, and nothing else is. */
const entrusted: Readonly<Record<Form, Expected>> = {
  ...expected,
  'an empty object': anonymous,
  'an empty object without a prototype': anonymous,
};

const signs = {
  Asked: (form: Form) => ({ 'x-form': encodeURIComponent(form) }),
  Entrusted: (form: Form) => ({ authorization: `Bearer ${encode(form)}` }),
} as const;

/** What nodes see of the caller, and whose thread it becomes. */
async function seenBy(client: Client): Promise<Readonly<Record<'user' | 'config' | 'owner', unknown>>> {
  const { body } = await client.send('POST', '/v1/graph/invoke', { messages: [user('who?')] });
  const { messages, meta } = body.data as {
    readonly messages: readonly { readonly content: readonly { readonly text: string }[] }[];
    readonly meta: { readonly thread_id: string };
  };
  const seen = JSON.parse(messages[0]?.content[0]?.text ?? '') as Readonly<Record<'user' | 'config', unknown>>;
  const thread = await client.send('GET', `/v1/threads/${meta.thread_id}`);
  return { ...seen, owner: thread.body.data['user_id'] };
}

/** What becomes of a caller: a refusal's status and message, or whose thread it is, and what nodes see. */
async function resultOf(client: Client): Promise<unknown> {
  const { status, body } = await client.send('GET', '/v1/threads');
  if (status !== 200) return [status, (body as { readonly error: { readonly message: string } }).error.message];
  const { owner, user: seen, config } = await seenBy(client);
  const own = { ...(config as Record<string, unknown>) };
  const added = ['multitask_strategy', 'on_disconnect', 'on_completion', ...Object.keys(addedConfig)];
  for (const name of added) Reflect.deleteProperty(own, name);
  return { owner, user: seen, config: own };
}

function resultWanted(want: Expected): unknown {
  if (!('owner' in want)) return [want[0], messages[want[0]]];
  return { ...want, config: { ...want.user, ...(want.owner !== null && { user_id: want.owner }) } };
}

const messages: Readonly<Record<number, string>> = {
  401: 'the credentials were refused',
  500: 'something went wrong on our side',
};

test('the table has every form, and is as long as it is said to be', (t) => {
  t.deepEqual(Object.keys(expected), forms);
  t.true(forms.length >= 40);
});

for (const [name, table] of [
  ['Asked', expected],
  ['Entrusted', entrusted],
] as const) {
  test.serial(`${name}: each form of a returned object has its status, its owner and its user`, async (t) => {
    await using service = await openShape('who', { HOST: '127.0.0.1', RATE_LIMIT_AUTH_FAILURES: '0' }, custom(name));
    const otherwise: unknown[] = [];
    for (const form of forms) {
      const got = await resultOf(createClient(service.url, signs[name](form)));
      if (!isDeepStrictEqual(got, resultWanted(table[form]))) otherwise.push({ form, got });
    }
    t.deepEqual(otherwise, []);
  });
}

embeddedOnly(test, 'the log names the kind of what a backend returned, and the reply does not', async (t) => {
  await using workspace = await makeWorkspace('who', custom('Asked'));
  await using service = await startStandalone({ ...workspace.env, RATE_LIMIT_AUTH_FAILURES: '0' });
  for (const [index, form] of forms.entries()) {
    const headers = { ...signs.Asked(form), 'x-request-id': `form-${String(index)}` };
    const { body } = await createClient(service.url, headers).send('GET', '/v1/threads');
    t.notRegex(JSON.stringify(body), /accessor|class|Proxy|Map|authenticate/, form);
  }
  t.is(await service.stop('SIGTERM'), 0);
  for (const [index, form] of forms.entries()) {
    const want = expected[form];
    if ('owner' in want) continue;
    const line = service.lines.find((each) => each.includes(`"form-${String(index)}"`)) ?? '';
    t.regex(line, want[1], form);
  }
});

test('what an authorization backend changes of its arguments reaches nobody', async (t) => {
  const service = { ...custom('Asked'), authorization: `${module}:grasping` };
  await using opened = await openShape('who', { HOST: '127.0.0.1' }, service);
  const client = createClient(opened.url, signs.Asked('cached'));
  for (let count = 0; count < 2; count += 1) {
    const { user: seen, owner, config } = await seenBy(client);
    t.deepEqual(seen, { user_id: 'ada', roles: ['reader'] });
    t.is(owner, 'ada');
    t.like(config, { user_id: 'ada', roles: ['reader'] });
  }
  t.is(grasping.seen.length, 4);
  for (const seen of grasping.seen) t.like(seen, { user: { user_id: 'ada', roles: ['reader'] } });
});
