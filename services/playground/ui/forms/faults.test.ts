import test from 'ava';
import { constraintsOf } from './constraints.ts';
import { faultOf } from './faults.ts';

const fault = (schema: object, value: unknown) => faultOf(constraintsOf(schema as Record<string, unknown>), value);

const cases: readonly (readonly [schema: object, good: readonly unknown[], bad: readonly unknown[], fault: string])[] =
  [
    [{ minimum: 1 }, [1, 'a'], [0.5], 'must be at least 1'],
    [{ maximum: 1 }, [1], [2], 'must be at most 1'],
    [{ exclusiveMinimum: 1 }, [1.5], [1], 'must be more than 1'],
    [{ exclusiveMaximum: 1 }, [0], [1], 'must be less than 1'],
    [{ multipleOf: 0.1 }, [0.3, -7, 0], [0.25], 'must be a multiple of 0.1'],
    [{ minLength: 2 }, ['ab', '🙂🙂', 7], ['', '🙂'], 'must have at least 2 characters'],
    [{ maxLength: 1 }, ['', '🙂'], ['ab'], 'must have at most 1 character'],
    [{ minItems: 1 }, [[1], 'a'], [[]], 'must have at least 1 item'],
    [{ maxItems: 2 }, [[1, 2]], [[1, 2, 3]], 'must have at most 2 items'],
    [
      { uniqueItems: true },
      [[1, '1']],
      [
        [
          { a: 1, b: 2 },
          { b: 2, a: 1 },
        ],
      ],
      'must not hold an item twice',
    ],
    [{ items: { enum: ['a', 'b'] } }, [['b'], []], [['c']], 'at [0] must be one of "a", "b"'],
    [{ const: { a: 1, b: 2 } }, [{ b: 2, a: 1 }], [{ a: 1 }], 'must be {"a":1,"b":2}'],
    [
      { items: { type: 'string', minLength: 2 } },
      [['ab'], 'a'],
      [['ab', 'a']],
      'at [1] must have at least 2 characters',
    ],
    [{ required: ['city'] }, [{ city: null }, []], [{}], 'must have "city"'],
    [{ properties: { zip: { type: 'string' } } }, [{}, { zip: '1' }], [{ zip: 1 }], 'at zip must be a text'],
    [
      { properties: { stops: { items: { required: ['at'], properties: { at: { format: 'date' } } } } } },
      [{ stops: [{ at: '2028-02-29' }] }],
      [{ stops: [{ at: '2028-02-29' }, { at: '2027-02-29' }] }],
      'at stops[1].at must be a date such as 2026-03-31',
    ],
    [
      { $defs: { city: { minLength: 2 } }, items: { $ref: '#/$defs/city' } },
      [['ab']],
      [['a']],
      'at [0] must have at least 2 characters',
    ],
    [
      { $defs: { 'a/b %': { type: 'object' } }, $ref: '#/$defs/a~1b%20%25', required: ['x'] },
      [{ x: 1 }],
      [{}],
      'must have "x"',
    ],
    [
      { type: 'object', properties: { sub: { $ref: '#' } } },
      [{ sub: { sub: {} } }],
      [{ sub: { sub: 1 } }],
      'at sub.sub must be an object',
    ],
    [{ type: 'string' }, [''], [1, null], 'must be a text'],
    [{ type: 'integer' }, [1], [1.5, '1'], 'must be a whole number'],
    [{ type: 'array' }, [[]], [{}, null], 'must be a list'],
    [{ type: 'object' }, [{}], [[], null], 'must be an object'],
    [{ type: ['boolean', 'null'] }, [true, null], [0], 'must be true or false or null'],
  ];

for (const [schema, good, bad, text] of cases) {
  test(`a value is held to ${JSON.stringify(schema)}`, (t) => {
    for (const value of good) t.is(fault(schema, value), undefined, JSON.stringify(value));
    for (const value of bad) t.is(fault(schema, value), text, JSON.stringify(value));
  });
}

test('what is malformed constrains nothing', (t) => {
  const schema = {
    type: 'constructor',
    minimum: '1',
    minLength: Number.NaN,
    multipleOf: 0,
    items: ['a'],
    properties: { 0: 'a' },
    required: 'a',
    format: 'toString',
    uniqueItems: 1,
  };
  for (const value of [0, '', [1, 1], {}]) t.is(fault(schema, value), undefined);
});

test('a reference that leads nowhere, elsewhere or round in a circle constrains nothing', (t) => {
  const circle = { $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } }, $ref: '#/$defs/a' };
  const others = ['#/$defs/none', '#anchor', 'https://example.com/schema', '#/__proto__/x', '#/%'].map(($ref) => ({
    $ref,
  }));
  for (const schema of [circle, ...others]) t.is(fault(schema, 1), undefined, JSON.stringify(schema));
});

test('a value that is nested without end is judged as far as its first levels', (t) => {
  const nested = (depth: number): unknown => JSON.parse('['.repeat(depth) + '1' + ']'.repeat(depth));
  const lists = { type: 'array', items: { $ref: '#' } };
  t.regex(String(fault(lists, nested(10))), /^at (\[0\]){10} must be a list$/);
  t.is(fault(lists, nested(1000)), undefined);
});
