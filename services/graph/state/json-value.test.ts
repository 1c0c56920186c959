import fc from 'fast-check';
import test from 'ava';
import { lostPlace, promisePlace, toJsonValue, toStrictJson } from './json-value.ts';

test('every JSON value is given as it is', (t) => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
      t.deepEqual(toStrictJson(value, 'it'), JSON.parse(JSON.stringify(value)));
    }),
  );
});

class Point {
  readonly x = 1;
}

const refused: readonly (readonly [unknown, string])[] = [
  [undefined, 'value is undefined'],
  [NaN, 'value is NaN'],
  [{ a: { b: [0, -Infinity] } }, 'value.a.b[1] is -Infinity'],
  [{ a: undefined }, 'value.a is undefined'],
  [[() => 1], 'value[0] is a function'],
  [[Symbol('x')], 'value[0] is a symbol'],
  [[1n], 'value[0] is a bigint'],
  [{ at: new Date(0) }, 'value.at is an object of class Date'],
  [new Map(), 'value is an object of class Map'],
  [new Point(), 'value is an object of class Point'],
  [[1, , 2], 'value[1] is undefined'],
];

for (const [value, fault] of refused) {
  test(`what JSON would drop or change is refused: ${fault}`, (t) => {
    t.throws(() => toStrictJson(value, 'send'), {
      name: 'TypeError',
      message: `send was given what is not JSON: ${fault}`,
    });
  });
}

test('wherever a value that JSON drops stands, its place is named', (t) => {
  const keys = fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(keys, (path) => {
      const value = path.reduceRight<unknown>((inner, key) => ({ first: 1, [key]: inner }), undefined);
      t.throws(() => toStrictJson(value, 'it'), { message: new RegExp(`: value\\.${path.join('\\.')} is undefined$`) });
    }),
  );
});

test('a cycle and nesting without end are refused, and an object that stands in two places is not', (t) => {
  const cycle: Record<string, unknown> = {};
  cycle['self'] = { cycle };
  t.throws(() => toStrictJson(cycle, 'it'), { message: /value\.self\.cycle is an object that holds itself/ });
  let deep: unknown = 1;
  for (let level = 0; level < 100_000; level++) deep = [deep];
  t.throws(() => toStrictJson(deep, 'it'), { message: /is nested more than 500 levels deep/ });
  const shared = { x: 1 };
  t.deepEqual(toStrictJson([shared, shared], 'it'), [{ x: 1 }, { x: 1 }]);
});

test('a value of which JSON makes no text is refused by its place and the reason', (t) => {
  const whyOf = (value: unknown): string =>
    t.throws(() => toJsonValue(value, 'it', 1000)).message.replace('it was given a value that is not JSON', '');
  const cycle: Record<string, unknown> = {};
  const shared = { x: 1 };
  cycle['self'] = [shared, shared, { cycle }];
  t.is(whyOf(cycle), ': value.self[2].cycle is an object that holds itself');
  t.is(whyOf({ a: undefined, at: new Date(0), b: [1, 2n] }), ': value.b[1] is a bigint');
  t.is(whyOf(Symbol('x')), ': value is a symbol');
  const thrower = {
    toJSON: () => {
      throw new Error('no text');
    },
  };
  t.is(whyOf([thrower]), ': toJSON of value[0] failed: an unexpected error, which is in the log of the service');
  t.is(whyOf({ ['x'.repeat(500)]: 1n }), `: value.${'x'.repeat(100)} is a bigint`);
  let deep: unknown = 1n;
  for (let level = 0; level < 500; level++) deep = { ['y'.repeat(50)]: deep };
  t.true(whyOf(deep).length < 1100, 'the place of what is nested deep is cut');
  let reads = 0;
  const changing = {
    get big(): unknown {
      return reads++ === 0 ? 1n : 1;
    },
  };
  t.is(whyOf(changing), '');
  t.is(whyOf(undefined), '');
});

test('a value over its bound is refused with its size', (t) => {
  t.throws(() => toStrictJson('xxx', 'it', 4), {
    name: 'RangeError',
    message: 'it was given 5 bytes of JSON, more than 4',
  });
});

test('a promise is found as the value and directly inside it, and nothing of the author fails the search', (t) => {
  const promise = Promise.resolve(1);
  t.is(promisePlace(promise, 'a'), 'a');
  t.is(promisePlace([1, promise], 'a'), 'a[1]');
  t.is(promisePlace({ b: promise }, 'a'), 'a.b');
  t.is(promisePlace({ ['x'.repeat(500)]: promise }, 'a'), `a.${'x'.repeat(100)}`);
  const thrower = {
    get b(): never {
      throw new Error('do not read me');
    },
  };
  const own = { promise, toJSON: () => 1 };
  const handler = {
    getPrototypeOf: (): never => {
      throw new Error('do not read me');
    },
  };
  for (const value of [1, null, undefined, 'x', {}, [], [[promise]], new Date(0), new Uint8Array(4), thrower, own])
    t.is(promisePlace(value, 'a'), undefined);
  for (const value of [new Proxy({}, handler), [new Proxy({}, handler)]]) t.is(promisePlace(value, 'a'), undefined);
});

test('an object of which JSON keeps nothing is found at any depth, and nothing else is', (t) => {
  const found = (value: unknown): string | undefined => lostPlace(value, JSON.stringify(value), 'a');
  t.is(found(new Map([[1, 2]])), 'a Map at a, of which JSON keeps nothing');
  t.is(found([{ b: [{}, new Set([1])] }]), 'a Set at a[0].b[1], of which JSON keeps nothing');
  t.is(found({ b: { c: new Error('x') } }), 'an Error at a.b.c, of which JSON keeps nothing');
  t.is(found([[Promise.resolve(1)]]), 'a promise that was not awaited at a[0][0], of which JSON keeps nothing');
  t.is(found({ b: /x/ }), 'a RegExp at a.b, of which JSON keeps nothing');
  t.is(
    found([new Response('x')]),
    'a Response, whose body is read by json() or text(), at a[0], of which JSON keeps nothing',
  );
  for (const [value, what] of [
    [new Headers({ a: 'b' }), 'Headers'],
    [new URLSearchParams('a=b'), 'URLSearchParams'],
    [new FormData(), 'a FormData'],
    [new Blob(['x']), 'a Blob'],
    [new File(['x'], 'x'), 'a File'],
    [new ReadableStream(), 'a ReadableStream'],
  ] as const)
    t.is(found({ b: value }), `${what} at a.b, of which JSON keeps nothing`);
  t.is(
    found({ ['x'.repeat(500)]: new ArrayBuffer(1) }),
    `an ArrayBuffer at a.${'x'.repeat(100)}, of which JSON keeps nothing`,
  );
  let deep: unknown = new Map();
  for (let level = 0; level < 500; level++) deep = { ['y'.repeat(50)]: deep };
  t.true((found(deep) ?? '').length < 1100, 'the place of what is nested deep is cut');
  const own = Object.assign(new Map(), { toJSON: () => ({}) });
  const coded = Object.assign(new Error('x'), { code: 'E' });
  for (const value of [1, '{}', {}, [{}], { a: {} }, Object.create(Point.prototype), own, coded, [coded, {}]])
    t.is(found(value), undefined);
  t.is(lostPlace(undefined, '{}', 'a'), undefined);
  let reads = 0;
  const single = {
    get b(): object {
      if (reads++ > 0) throw new Error('read once');
      return {};
    },
  };
  t.is(found(single), undefined);
  t.throws(() => toJsonValue({ b: new Map() }, 'progress()', 100), {
    name: 'TypeError',
    message: 'progress() was given a Map at value.b, of which JSON keeps nothing',
  });
});

test('the value of plain JSON is never taken for one that is lost', (t) => {
  const json = fc.json();
  fc.assert(
    fc.property(json, (text) => {
      t.is(lostPlace(JSON.parse(text), text, 'a'), undefined);
    }),
  );
});
