import { default as test } from 'ava';
import { applyUpdate, refuseInitialState } from '../api/update-state.ts';
import { shapeForValues, shapeOfRegistered } from './agent-shape.ts';

const json = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));

const shapeOf = (fields: object): ReturnType<typeof shapeOfRegistered> =>
  shapeOfRegistered(
    { name: 'support' },
    {
      ...{ graphJson: json({ nodes: [], edges: [] }), fieldsJson: json(fields), toolsJson: json([]), nodes: [] },
      codeFields: { reduced: [], checked: [] },
    },
  );

const deep = (levels: number): object =>
  JSON.parse('{"not":'.repeat(levels) + 'true' + '}'.repeat(levels)) as Record<string, unknown>;

const doubling = Object.fromEntries(
  Array.from({ length: 30 }, (_, index) => {
    const next = { $ref: `#/$defs/d${String(index + 1)}` };
    return [`d${String(index)}`, { allOf: [next, next] }];
  }),
);

const slow: Readonly<Record<string, object>> = {
  'a pattern': { pattern: '^(a+)+$' },
  'a pattern of names': { properties: { a: { patternProperties: { '^(a+)+$': true } } } },
  'a pattern among others': { anyOf: [{ items: { pattern: '^(a+)+$' } }] },
  'references that double the work': { $ref: '#/$defs/d0', $defs: { ...doubling, d30: {} } },
  'unique items': { items: { uniqueItems: true } },
  'a format with a slow expression': { format: 'uri-template' },
  'many levels': deep(100),
  'very many levels': deep(3000),
  'many bytes': { enum: ['x'.repeat(20_000)] },
};

for (const [what, schema] of Object.entries(slow))
  test(`a schema of another team with ${what} is left to a worker of the agent`, (t) => {
    const shape = shapeOf({ code: { type: 'any', schema } });
    t.deepEqual([...shape.elsewhere.checked], ['code']);
    t.notThrows(() => refuseInitialState(shape, { code: `${'a'.repeat(40)}!` }));
  });

test('a schema of another team with usual keywords is checked here', (t) => {
  const shape = shapeOf({
    code: { type: 'string', schema: { type: 'string', maxLength: 3 } },
    day: { type: 'any', schema: { type: 'object', properties: { at: { format: 'date' } } } },
  });
  t.deepEqual([...shape.elsewhere.checked], []);
  t.throws(() => refuseInitialState(shape, { code: 'abcd' }), { message: /code/ });
  t.throws(() => refuseInitialState(shape, { day: { at: 'noon' } }), { message: /day/ });
});

test('the type of a field is checked here also where its schema is not', (t) => {
  const shape = shapeOf({ code: { type: 'string', schema: { pattern: '^a' } } });
  t.throws(() => refuseInitialState(shape, { code: 7 }), { message: /must be a string/ });
});

const many = (length: number): number[] => Array.from({ length }, () => 0);
const alternatives = Array.from({ length: 90 }, (_, index) => ({ minimum: index + 1 }));
const zerosOf = { type: 'array', items: { anyOf: alternatives } };

test('values that a schema of another team takes long for are left to a worker of the agent, and others are checked here', async (t) => {
  const shape = shapeOf({ seen: { type: 'array', schema: zerosOf }, title: { type: 'string' } });
  t.deepEqual([...shape.elsewhere.checked], []);
  const start = performance.now();
  t.notThrows(() => refuseInitialState(shape, { seen: many(1_000_000) }));
  const current = { version: 1, fields: {}, contextJson: json([]) };
  const write = async (update: object): Promise<readonly string[]> => {
    const reduceElsewhere = async (_current: unknown, given: object) =>
      Promise.resolve(Object.fromEntries(Object.keys(given).map((name) => [`elsewhere ${name}`, json(0)])));
    const { fields } = await applyUpdate({ agent: shape, current, update: { ...update }, reduceElsewhere });
    return Object.keys(fields);
  };
  t.deepEqual(await write({ seen: many(1_000_000), title: 'x' }), ['elsewhere seen', 'elsewhere title']);
  t.true(performance.now() - start < 3000);
  t.deepEqual(await write({ seen: [90], title: 'x' }), ['seen', 'title']);
  t.throws(() => refuseInitialState(shape, { seen: [0] }), { message: /^initialState.seen: .*value\/0 must be >= 1/ });
  t.throws(() => refuseInitialState(shape, { seen: 'all' }), { message: /must be an array/ });
});

test('what is checked here is bounded for all fields of a request together', (t) => {
  const names = Array.from({ length: 40 }, (_, index) => `f${String(index)}`);
  const shape = shapeOf(Object.fromEntries(names.map((name) => [name, { type: 'array', schema: zerosOf }])));
  const values = Object.fromEntries(names.map((name) => [name, many(2000)]));
  const { checked } = shapeForValues(shape, values).elsewhere;
  t.true(checked.size > 30 && checked.size < 40);
  t.false(checked.has('f0'));
});
