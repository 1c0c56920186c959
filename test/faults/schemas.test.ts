import { setImmediate } from 'node:timers/promises';
import { createReactAgent, tool } from '@agent-workflow/graph';
import { readForeignSchema } from '@agent-workflow/graph/schema/foreign';
import { fakeModel, user, walk } from '@agent-workflow/graph/testing';
import test from 'ava';
import { byLoad } from '../by-load.ts';

type Schema = Readonly<Record<string, unknown>>;

// The checks of one turn of the event loop share a bound of time, and what runs here never waits for anything.
test.beforeEach(() => setImmediate());

const of = (length: number, item: (index: number) => unknown): unknown[] =>
  Array.from({ length }, (_, index) => item(index));
const named = (length: number, value: (index: number) => unknown): Schema =>
  Object.fromEntries(of(length, (index) => [`n${String(index)}`, value(index)]) as [string, unknown][]);
const inA = (a: unknown): Schema => ({ type: 'object', properties: { a } });

/** Each level refers to the next one twice: 2 to the power of the levels checks of one value. */
const doubling = (word: string, last: unknown): Schema => ({
  ...inA({ $ref: '#/$defs/n0' }),
  $defs: {
    ...named(40, (index) => ({ [word]: of(2, () => ({ $ref: `#/$defs/n${String(index + 1)}` })) })),
    n40: last,
  },
});

const deep = (levels: number): unknown => {
  let value: unknown = 0;
  for (let level = 0; level < levels; level++) value = [value];
  return value;
};

const tree = (levels: number): unknown => (levels === 0 ? 1 : { a: tree(levels - 1) });

/** Schemas and arguments that would take one of most evaluators seconds to centuries; what is wrong with the arguments, if anything. */
const hostile: readonly (readonly [what: string, schema: Schema, args: Schema, fault?: RegExp])[] = [
  ['references that double in allOf', doubling('allOf', { type: 'string' }), { a: 'a' }, /too complex/],
  ['references that double in anyOf', doubling('anyOf', { type: 'string' }), { a: 1 }, /too complex/],
  ['references that double in oneOf', doubling('oneOf', {}), { a: 1 }, /too complex/],
  [
    'a schema that holds itself twice, and a deep value',
    { additionalProperties: { anyOf: [{ allOf: [{ $ref: '#' }, false] }, { $ref: '#' }] }, type: 'object' },
    { a: tree(60) },
    /too complex/,
  ],
  ['a reference that comes back at once', inA({ $ref: '#/properties/a' }), { a: 1 }],
  [
    'references that come back over many',
    {
      ...inA({ $ref: '#/$defs/n0' }),
      $defs: named(500, (index) => ({
        anyOf: of(3, (step) => ({ $ref: `#/$defs/n${String((index * 7 + step * 11 + 1) % 500)}` })),
      })),
    },
    { a: 1 },
  ],
  [
    'a value of three thousand levels',
    { ...inA({ $ref: '#/$defs/list' }), $defs: { list: { items: { $ref: '#/$defs/list' } } } },
    { a: deep(3000) },
    /too complex/,
  ],
  ['a hundred thousand items that must differ', inA({ uniqueItems: true }), { a: of(100_000, (index) => ({ index })) }],
  [
    'a hundred thousand items, none of which fits',
    inA({ contains: { anyOf: of(100, () => ({ type: 'string', minLength: 5 })) } }),
    { a: of(100_000, () => 1) },
    /too complex/,
  ],
  [
    'schemas that depend on each other',
    {
      ...inA({ $ref: '#/$defs/n0' }),
      $defs: named(40, (index) => ({
        dependentSchemas: named(2, () => ({ $ref: `#/$defs/n${String(Math.min(39, index + 1))}` })),
      })),
    },
    { a: { n0: 1, n1: 1 } },
    /too complex/,
  ],
  [
    'five hundred patterns of names, ten thousand names',
    inA({
      patternProperties: Object.fromEntries(of(500, (index) => [`^(x+)+${String(index)}$`, {}]) as [string, unknown][]),
    }),
    { a: named(10_000, () => 1) },
    /too complex/,
  ],
  [
    'a list of large values, compared with many',
    inA({ items: { enum: of(100, (index) => named(50, () => index)) } }),
    { a: of(2000, () => named(50, () => 'no')) },
    /allowed values|too complex/,
  ],
  [
    'what is unevaluated of many alternatives',
    inA({
      anyOf: of(100, (index) => ({ properties: named(20, () => ({ const: index })) })),
      unevaluatedProperties: false,
    }),
    { a: named(2000, () => 1) },
    /./,
  ],
  [
    'a pattern of nested repetitions',
    inA({ pattern: '^(a+)+$' }),
    { a: `${'a'.repeat(500_000)}!` },
    /must match the pattern/,
  ],
  ['a pattern of many ways', inA({ pattern: '(.*a){20}!$' }), { a: 'a'.repeat(200_000) }, /too complex/],
  [
    'a pattern that looks ahead everywhere',
    inA({ pattern: '(?=.*(?=.*(?=.*b)))c' }),
    { a: 'a'.repeat(100_000) },
    /too complex/,
  ],
  [
    'a pattern that is repeated by number',
    inA({ pattern: '^((a{0,20}){0,20}){0,20}$' }),
    { a: 'a'.repeat(100_000) },
    /too complex|must match/,
  ],
];

for (const [what, schema, args, fault] of hostile) {
  test.serial(`a check of arguments ends soon, whatever schema and arguments are: ${what}`, async (t) => {
    const checked = tool({ name: 'checked', description: '', parameters: readForeignSchema(schema) }, () => 'ran');
    const model = fakeModel([{ call: 'checked', args }, 'Done.']);
    const start = performance.now();
    const { state } = await walk(createReactAgent({ model, tools: [checked] }), { context: [user('Go on.')] });
    const ms = performance.now() - start;
    t.log(`${String(Math.round(ms))} ms`);
    t.true(ms < byLoad(5000), `${String(ms)} ms`);
    const block = state.context.flatMap(({ content }) => content).find(({ type }) => type === 'tool_result');
    t.is(block?.['is_error'], fault !== undefined);
    if (fault) t.regex(String(block?.['output']), fault);
  });
}

test.serial(
  'the checks of many calls in one answer together end soon: those that come too late are refused',
  async (t) => {
    const parameters = readForeignSchema(inA({ pattern: '^(?!.*(?=.*(?=.*b)))' }));
    const checked = tool({ name: 'checked', description: '', parameters }, () => 'ran');
    const args = { a: 'a'.repeat(70) };
    const calls = of(1000, (index) => ({ type: 'tool_call', id: `c${String(index)}`, name: 'checked', args }));
    const model = fakeModel([calls as never, 'Done.']);
    const { state } = await walk(createReactAgent({ model, tools: [checked] }), { context: [user('Go on.')] });
    const results = state.context.flatMap(({ content }) => content).filter(({ type }) => type === 'tool_result');
    t.is(results[0]?.['output'], 'ran');
    t.regex(String(results.at(-1)?.['output']), /too complex/);
  },
);

const large: readonly (readonly [what: string, schema: Schema])[] = [
  [
    'patterns with a great many states',
    {
      properties: Object.fromEntries(
        of(1500, (index) => [`n${String(index)}`, { pattern: `a{19000}${String(index)}` }]) as [string, unknown][],
      ),
    },
  ],
  [
    'references in a row',
    {
      $ref: '#/$defs/n0',
      $defs: named(1200, (index) => (index < 1199 ? { $ref: `#/$defs/n${String(index + 1)}` } : {})),
    },
  ],
  ['references by long pointers', { $defs: named(30, () => ({ $ref: `#${'/$defs/n0/not'.repeat(100)}` })) }],
  [
    'ids in each other',
    (() => {
      let schema: Schema = {};
      for (let level = 0; level < 120; level++) schema = { $id: `${'a'.repeat(400)}/`, not: schema };
      return schema;
    })(),
  ],
];

for (const [what, schema] of large) {
  test.serial(`a schema is read or refused soon, whatever it is: ${what}`, (t) => {
    const start = performance.now();
    try {
      readForeignSchema(schema);
    } catch (error) {
      t.log((error as Error).message.slice(0, 200));
    }
    const ms = performance.now() - start;
    t.log(`${String(Math.round(ms))} ms`);
    t.true(ms < byLoad(2000), `${String(ms)} ms`);
  });
}
