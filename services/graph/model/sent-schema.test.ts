import test from 'ava';
import { toSentSchema } from './sent-schema.ts';

const text = { type: 'string' };
const number = { type: 'number' };

/** What providers refuse with the whole request, and what they get. */
const schemas: readonly (readonly [what: string, given: object, sent: object])[] = [
  ['no members (crawl4ai#2207, spring-ai#4776)', { type: 'object' }, { type: 'object', properties: {} }],
  [
    'a type that may be null',
    { type: ['object', 'null'], properties: { a: text } },
    { type: 'object', properties: { a: text } },
  ],
  [
    'alternatives of objects (claude-code#88049, google-calendar-mcp#39)',
    {
      description: 'A place',
      anyOf: [
        { type: 'object', properties: { a: text, b: text }, required: ['a', 'b'], additionalProperties: false },
        { type: 'object', properties: { a: text, c: number }, required: ['a', 'c'] },
      ],
    },
    { description: 'A place', type: 'object', properties: { a: text, b: text, c: number }, required: ['a'] },
  ],
  [
    'alternatives beside members, one member of two kinds',
    {
      type: 'object',
      properties: { kind: text },
      required: ['kind'],
      oneOf: [{ properties: { v: text } }, { properties: { v: number } }],
    },
    { type: 'object', properties: { kind: text, v: { anyOf: [text, number] } }, required: ['kind'] },
  ],
  [
    'parts that all hold, and a condition',
    {
      allOf: [
        { properties: { a: text }, required: ['a'] },
        { properties: { b: text }, required: ['b'] },
      ],
      if: {},
      then: { properties: { c: text }, required: ['c'] },
    },
    { type: 'object', properties: { a: text, b: text, c: text }, required: ['a', 'b'] },
  ],
  [
    'a reference in place of the members',
    {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      $ref: '#/$defs/tree',
      $defs: { tree: { type: 'object', properties: { child: { $ref: '#/$defs/tree' } } } },
    },
    {
      $defs: { tree: { type: 'object', properties: { child: { $ref: '#/$defs/tree' } } } },
      type: 'object',
      properties: { child: { $ref: '#/$defs/tree' } },
    },
  ],
  [
    'a reference round',
    { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/a' } } },
    { $defs: { a: { $ref: '#/$defs/a' } }, type: 'object', properties: {} },
  ],
  [
    'a list that does not say what its items are (mcphost#35, ruflo#1294)',
    { type: 'object', properties: { a: { type: 'array' }, b: { anyOf: [{ type: ['array', 'null'] }, text] } } },
    {
      type: 'object',
      properties: { a: { type: 'array', items: {} }, b: { anyOf: [{ type: ['array', 'null'], items: {} }, text] } },
    },
  ],
  [
    'a schema for each item of a list',
    {
      type: 'object',
      properties: {
        a: { type: 'array', items: [text, number], additionalItems: false },
        b: { prefixItems: [text], items: false },
      },
    },
    { type: 'object', properties: { a: { type: 'array', items: { anyOf: [text, number] } }, b: { items: text } } },
  ],
  [
    'a member of any value, and no values',
    { type: 'object', properties: { a: true, b: { enum: [] } } },
    { type: 'object', properties: { a: {}, b: {} } },
  ],
];

for (const [what, given, sent] of schemas) {
  test(`a model reads parameters that every provider takes in place of ${what}`, (t) => {
    const before = structuredClone(given);
    t.deepEqual(toSentSchema(given as never), sent as never);
    t.deepEqual(given, before);
  });
}

test('parameters that every provider takes stay as they are, members that are named like keywords too', (t) => {
  const given = {
    type: 'object',
    properties: {
      items: { type: 'array', items: text },
      enum: text,
      anyOf: { type: 'object', additionalProperties: true },
    },
    required: ['items'],
    additionalProperties: false,
  };
  t.deepEqual(toSentSchema(given), given);
});

test('parameters with very many alternatives within each other are read in time', (t) => {
  let given: object = { properties: { a: text } };
  for (let level = 0; level < 60; level += 1) given = { $ref: '#/$defs/a', anyOf: [given, given], $defs: { a: given } };
  t.like(toSentSchema({ ...given, $defs: {} }), { type: 'object' });
});
