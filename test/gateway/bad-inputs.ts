import { gzipSync } from 'node:zlib';
import type { Row } from '@agent-workflow/gateway/http/endpoint';
import { endpoints } from '@agent-workflow/gateway/endpoints';
import { sampleOf } from '../http/sample.ts';

/** A request that nobody should send, and the statuses that answer it. */
export interface BadInput {
  readonly class: string;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Buffer;
  /** Sent in pieces, without its length. */
  readonly chunked?: boolean;
  readonly expected: readonly number[];
}

interface Schema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly pattern?: string;
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
}

type Steps = readonly (string | number)[];

/** Nobody's fault is ours: these are all that may answer what is odd, but not wrong. */
const harmless = [200, 202, 400, 404, 409, 422];

const routesOf = (rows: typeof endpoints) =>
  rows.flatMap((row) => [row, ...row.aliases].map(({ method, path }) => ({ row, method, path })));
const json = { 'content-type': 'application/json' };

interface Asked {
  /** The rows that are asked; those of everybody unless given: those of operators are refused to all others before anything is read. */
  readonly rows?: typeof endpoints;
  /** What stands in a path in the place of a parameter: `x` unless given. */
  readonly ids?: Readonly<Record<string, string>>;
  /** What a query or a body holds beside what is wrong with it, where the row has it. */
  readonly given?: Readonly<Record<string, string>>;
}

/** Everything there is, made from the endpoint table: a new row brings its own. */
export function* badInputs({
  rows = endpoints.filter(({ forOperators }) => !forOperators),
  ids = {},
  given = {},
}: Asked = {}): Generator<BadInput> {
  const routes = routesOf(rows);
  const bodyRoutes = routes.filter(({ row, method }) => row.input && method !== 'GET');
  const queryRoutes = routes.filter(({ row, method }) => row.input && (method === 'GET' || method === 'DELETE'));
  const atHome = (path: string): string => path.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? 'x');
  for (const { row, method, path } of bodyRoutes) {
    const to = { method, path: atHome(path), headers: json };
    const sample = sampleWith(row, given);
    for (const { name, value } of badFields(row, sample)) {
      yield { ...to, class: `field: ${name}`, body: Buffer.from(JSON.stringify(value)), expected: [422] };
    }
    for (const [name, body, expected, extra = {}] of badBodies(sample)) {
      yield { ...to, ...extra, headers: { ...json, ...extra.headers }, class: name, body, expected };
    }
  }
  for (const { row, method, path } of queryRoutes) {
    for (const [name, query, expected] of badQueries(row, given))
      yield { class: `query: ${name}`, method, path: `${atHome(path)}?${query}`, headers: {}, expected };
  }
  for (const { row, method, path } of routes.filter(({ row }) => row.params)) {
    const body = row.input && method !== 'GET' ? { body: Buffer.from(JSON.stringify(sampleWith(row, given))) } : {};
    for (const [name, id, expected] of oddIds) {
      for (const [parameter] of path.matchAll(/\{\w+\}/g))
        yield {
          class: `id: ${name}`,
          method,
          path: atHome(path.replace(parameter, id)),
          headers: json,
          // Where a signature stands in place of credentials, nobody without one is told what exists.
          expected: row.takesBytes === undefined ? expected : expected.map((status) => (status === 404 ? 401 : status)),
          ...body,
        };
    }
  }
}

const oddIds: readonly [name: string, id: string, expected: readonly number[]][] = [
  ['a slash', 'a%2Fb', [422]],
  ['NUL', '%00', [422]],
  ['a control character', 'a%0D%0Ab', [422]],
  ['too long', 'x'.repeat(1025), [422]],
  ['broken percent-encoding', '%zz', [400]],
  ['half of a surrogate pair', '%ED%A0%80', [400]],
  ['overlong UTF-8', '%C0%AF', [400]],
  ['a step', '%2e', [422]],
  ['a step up', '%2E%2e', [422]],
  ['steps up', '..%2f..%2f..%2fetc%2fpasswd', [422]],
  ['a prototype', '__proto__', [404, 422, 200]],
  ['SQL', `x'%20OR%20'1'='1`, [404, 422, 200]],
  ['an emoji', '%F0%9F%92%A9', [404, 422, 200]],
];

/** The smallest input of a row, and what is given of it. */
function sampleWith({ input = {} }: Row, given: Readonly<Record<string, string>>): unknown {
  const { properties = {} } = input as Schema;
  const own = Object.entries(given).filter(([name]) => name in properties);
  return own.length === 0 ? sampleOf(input) : { ...(sampleOf(input) as object), ...Object.fromEntries(own) };
}

/** Every field of the body with every value that it must not have. */
function* badFields({ input }: Row, sample: unknown): Generator<{ name: string; value: unknown }> {
  const schema = input as Schema;
  for (const { steps, field, isOptional } of fieldsOf(schema, [])) {
    for (const [name, bad] of badValues(field)) {
      // Null for what may be absent is its absence.
      if (bad === null && isOptional) continue;
      yield { name: `${name} at ${steps.join('.')}`, value: withValue(sample, steps, bad) };
    }
  }
  for (const name of schema.required ?? []) {
    if (!('default' in (schema.properties?.[name] ?? {}))) {
      yield { name: `without ${name}`, value: { ...(sample as object), [name]: undefined } };
    }
  }
}

/** Every field, at any depth, with the way to it. */
function* fieldsOf(
  { properties = {}, required = [], items }: Schema,
  steps: Steps,
): Generator<{ steps: Steps; field: Schema; isOptional: boolean }> {
  for (const [name, field] of Object.entries(properties)) {
    yield { steps: [...steps, name], field, isOptional: !required.includes(name) || 'default' in field };
    yield* fieldsOf(field, [...steps, name]);
  }
  if (items) {
    yield { steps: [...steps, 0], field: items, isOptional: false };
    yield* fieldsOf(items, [...steps, 0]);
  }
}

const ofEachType: readonly [type: string, values: readonly unknown[]][] = [
  ['null', [null]],
  ['boolean', [true, false]],
  ['integer', [0, -7]],
  ['number', [1.5, -1e300]],
  ['string', ['', 'text', '5', 'x'.repeat(50_000)]],
  ['array', [[], [null], [[[]]], Array.from({ length: 5000 }, () => 0)]],
  ['object', [{}, { length: 1 }, { $gt: '' }]],
];

function* badValues(field: Schema): Generator<[name: string, value: unknown]> {
  const types = typesOf(field);
  for (const [type, values] of ofEachType) {
    if (types.length === 0 || types.includes(type) || (type === 'integer' && types.includes('number'))) continue;
    for (const value of values) yield [`${type} for ${types.join(' or ')}`, value];
  }
  yield* outOfRange(field, types);
}

const typesOf = ({ type, anyOf = [] }: Schema): readonly string[] => [
  ...(type === undefined ? [] : [type].flat()),
  ...anyOf.flatMap((variant) => typesOf(variant)),
];

function* outOfRange(field: Schema, types: readonly string[]): Generator<[name: string, value: unknown]> {
  const { minimum, maximum, minLength = 0, maxLength, minItems = 0, maxItems, pattern } = field;
  if (field.enum)
    for (const word of ['', 'nonsense', String(field.enum[0]).toUpperCase()]) yield ['no such word', word];
  if (types.includes('integer'))
    for (const value of [1.5, 2 ** 60 + 0.5e17 + 0.1]) if (!Number.isInteger(value)) yield ['no whole number', value];
  if (minimum !== undefined)
    for (const value of [minimum - 1, -1e9, minimum * 10]) if (value < minimum) yield ['below the least', value];
  if (maximum !== undefined)
    for (const value of [maximum + 1, 1e9, maximum * 10]) if (value > maximum) yield ['above the most', value];
  if (types.includes('string')) {
    if (minLength > 0) yield ['too short', ''];
    if (maxLength !== undefined) for (const length of [maxLength + 1, 100_000]) yield ['too long', 'x'.repeat(length)];
    if (pattern !== undefined)
      for (const text of ['a/b', '.', '..', '\u0000', 'a\nb', '\u007f', '\ud800', '\udc00x'])
        yield ['a forbidden character', text];
  }
  if (types.includes('array')) {
    if (minItems > 0) yield ['too few', []];
    if (maxItems !== undefined)
      yield ['too many', Array.from({ length: maxItems + 1 }, () => sampleOf(field.items ?? {}))];
  }
}

function withValue(sample: unknown, steps: Steps, value: unknown): unknown {
  const [step, ...rest] = steps;
  if (step === undefined) return value;
  if (typeof step === 'number') return [withValue(Array.isArray(sample) ? sample[0] : undefined, rest, value)];
  const object = typeof sample === 'object' && sample !== null && !Array.isArray(sample) ? sample : {};
  return { ...object, [step]: withValue((object as Record<string, unknown>)[step], rest, value) };
}

type Extra = Pick<BadInput, 'chunked'> & { readonly headers?: Readonly<Record<string, string>> };
type BadBody = readonly [name: string, body: Buffer, expected: readonly number[], extra?: Extra];

/** What is wrong with a body whatever the route. */
function badBodies(sample: unknown): BadBody[] {
  const good = JSON.stringify(sample);
  const withMember = (member: string): string => `{${member}${good === '{}' ? '' : ','}${good.slice(1)}`;
  const add = (member: string): Buffer => Buffer.from(withMember(member));
  const deep = (levels: number): string => `"x":${'['.repeat(levels)}${']'.repeat(levels)}`;
  return [
    ['nested 10,000 deep', add(deep(10_000)), [400]],
    ['nested 10,000 deep, in objects', add(`"x":${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`), [400]],
    ['nested 10,000 deep, compressed', gzipSync(add(deep(10_000))), [400], { headers: gzip }],
    ['nested 129 deep', add(deep(128)), [400]],
    ['`__proto__`', add('"__proto__":{"a":1}'), [400]],
    ['`__proto__`, escaped', add(String.raw`"\u005f_proto__":{"a":1}`), [400]],
    ['`__proto__`, further in', add('"x":[{"y":{"__proto__":null}}]'), [400]],
    ['a constructor', add('"constructor":{"prototype":{"a":1}},"toString":1,"hasOwnProperty":1'), harmless],
    ['one key twice', add('"x":1,"x":2,"config":5,"config":5'), harmless],
    ['half of a surrogate pair', add(String.raw`"x":"\ud83d","\udc00":"\ud800"`), harmless],
    [
      'bytes that are no UTF-8',
      Buffer.concat([Buffer.from('{"x":"'), Buffer.from([0xff, 0xfe, 0xc0]), Buffer.from('"}')]),
      [400],
    ],
    ['an escaped NUL', add(String.raw`"x":"\u0000","\u0000":1`), harmless],
    ['a raw NUL', add('"x":"\u0000"'), [400]],
    ['NUL after the end', Buffer.from(`${good}\u0000`), [400]],
    ['a byte order mark', Buffer.from(`\ufeff${good}`), harmless],
    ['UTF-16', Buffer.from(good, 'utf16le'), [400]],
    ['cut off', Buffer.from(withMember('"x":{"y":[1,2').slice(0, 14)), [400]],
    ['cut off in a text', Buffer.from('{"x":"y'), [400]],
    ['cut off in an escape', Buffer.from(String.raw`{"x":"\u00`), [400]],
    ['numbers beyond measure', add(`"x":1e999,"y":-1e999,"z":${'9'.repeat(5000)}`), harmless],
    ['NaN', add('"x":NaN'), [400]],
    ['a comment', Buffer.from(`/* x */${good}`), [400]],
    ['two values', Buffer.from(`${good}${good}`), [400]],
    ['an array', Buffer.from(`[${good}]`), [400]],
    ['null', Buffer.from('null'), [400]],
    ['a text', Buffer.from('"{}"'), [400]],
    ['blanks alone', Buffer.from(' \n\t '), [400]],
    ['a form', Buffer.from('a=1&b=2'), [415], { headers: { 'content-type': 'application/x-www-form-urlencoded' } }],
    ['no content type', Buffer.from(good), [415], { headers: { 'content-type': '' } }],
    [
      'another charset',
      Buffer.from(good),
      [415],
      { headers: { 'content-type': 'application/json; charset=nonsense' } },
    ],
    ['UTF-7', Buffer.from(good), [415], { headers: { 'content-type': 'application/json; charset=utf-7' } }],
    ['an unknown encoding', Buffer.from(good), [415], { headers: { 'content-encoding': 'zstd' } }],
    ['said to be gzip', Buffer.from(good), [400], { headers: gzip }],
    ['gzip, cut off', gzipSync(good).subarray(0, -6), [400], { headers: gzip }],
    ['in pieces, without a length', Buffer.from('{"x":'), [400], { chunked: true }],
    ['an idempotency key that is none', Buffer.from(good), [...harmless], { headers: { 'idempotency-key': 'ä b' } }],
  ];
}

const gzip = { 'content-encoding': 'gzip' };

/** Inputs that weigh much: sent to a few routes, because it is the same reader that refuses them for all. */
export function* largeInputs(): Generator<BadInput> {
  const keys = (count: number): Buffer =>
    Buffer.from(`{"x":{${Array.from({ length: count }, (_, index) => `"${index.toString(36)}":0`).join(',')}}}`);
  const bomb = gzipSync(Buffer.alloc(200 * 1024 * 1024, ' '), { level: 1 });
  const large: readonly BadBody[] = [
    ['1,000,000 keys', keys(1_000_000), [413]],
    ['400,000 keys', keys(400_000), [400]],
    ['1,000,000 lists', Buffer.from(`{"x":[${'[],'.repeat(999_999)}[]]}`), [400]],
    ['one value too many bytes', Buffer.from(`{"x":"${'x'.repeat(5 * 1024 * 1024)}"}`), [413]],
    [
      'the same in pieces, without a length',
      Buffer.from(`{"x":"${'x'.repeat(5 * 1024 * 1024)}"}`),
      [413],
      { chunked: true },
    ],
    ['a small body that unpacks to 200 MiB', bomb, [413], { headers: gzip }],
    ['500,000 items', Buffer.from(`{"x":[${'0,'.repeat(499_999)}0],"config":0}`), [422, 200, 202]],
  ];
  const rows = endpoints.filter(
    ({ name, forOperators }) => !forOperators && /invoke|addMessages|searchMemories/.test(name),
  );
  for (const { method, path } of routesOf(rows)) {
    for (const [name, body, expected, extra = {}] of large) {
      yield {
        method,
        path: path.replaceAll(/\{\w+\}/g, 'x'),
        class: name,
        body,
        expected,
        ...extra,
        headers: { ...json, ...extra.headers },
      };
    }
  }
}

/** Every parameter of a query with what it must not be. */
function* badQueries(
  { input }: Row,
  given: Readonly<Record<string, string>>,
): Generator<[name: string, query: string, expected: readonly number[]]> {
  const { properties = {} } = input as Schema;
  for (const [name, field] of Object.entries(properties)) {
    const types = typesOf(field);
    const beside = Object.entries(given).filter(([other]) => other in properties && other !== name);
    const more = beside.map(([other, value]) => `&${other}=${encodeURIComponent(value)}`).join('');
    const queryOf = (value: string): string => `${name}=${encodeURIComponent(value)}${more}`;
    if (types.includes('integer') || types.includes('number')) {
      for (const value of ['', 'x', 'NaN', '0x10', '1e3', '١', ' 1', '1;2', 'null', 'true', '[]'])
        yield [`no number for ${name}`, queryOf(value), [422]];
      for (const value of ['-1', '-99999999999999999999']) yield [`below the least for ${name}`, queryOf(value), [422]];
      yield [`beyond measure for ${name}`, queryOf('9'.repeat(400)), [422, 200, 202]];
    }
    if (types.includes('object')) {
      for (const value of ['', 'x', '[]', '1', '{', '{"a":1', "{'a':1}"])
        yield [`no object for ${name}`, queryOf(value), [422]];
      yield [`a prototype for ${name}`, queryOf('{"__proto__":{}}'), [400]];
      yield [`nesting for ${name}`, queryOf(`{"a":${'['.repeat(300)}${']'.repeat(300)}}`), [400]];
    }
    yield [`${name} twice`, `${name}=1&${name}=2${more}`, [422]];
    for (const raw of ['%', '%ff', '%00', '%ED%A0%80', "'--", '%F0%9F%92%A9', '${x}'])
      yield [`an odd ${name}`, `${name}=${raw}${more}`, harmless];
  }
  for (const query of ['&&=&', 'a[b]=c', '__proto__=1', 'constructor=1', '?'.repeat(50), `x=${'y'.repeat(7000)}`])
    yield ['odd', query, harmless];
  yield ['too long', `x=${'y'.repeat(9000)}`, [414]];
}
