import test from 'ava';
import { field } from './field.ts';
import { START } from '../build/names.ts';
import { StateGraph } from '../build/graph.ts';
import { compileSchema, schemaFault } from './schema.ts';
import { remoteTool, tool, toolNode } from '../build/tool.ts';

const withParameters = (parameters: Readonly<Record<string, unknown>>) => () =>
  new StateGraph({})
    .addNode('tools', toolNode([tool({ name: 'look_up', description: '', parameters }, () => 1)]))
    .addEdge(START, 'tools')
    .compile();

const versions = [
  'http://json-schema.org/draft-07/schema#',
  'https://json-schema.org/draft/2019-09/schema',
  'https://json-schema.org/draft/2020-12/schema',
];

for (const $schema of versions) {
  test(`a schema is of the version that it names: ${$schema}`, (t) => {
    const schema = { $schema, type: 'object', properties: { at: { type: 'string', format: 'date-time' } } };
    t.notThrows(withParameters(schema));
    t.is(schemaFault(schema, { at: '2026-01-01T00:00:00Z' }, 'arguments'), undefined);
    t.is(schemaFault(schema, { at: 'noon' }, 'arguments'), 'arguments/at must match format "date-time"');
  });
}

test('without $schema a tuple is written as 2020-12 writes it, and with draft-07 as that does', (t) => {
  const modern = { type: 'array', prefixItems: [{ type: 'string' }] };
  t.is(schemaFault(modern, [1], 'value'), 'value/0 must be string');
  const old = { $schema: 'http://json-schema.org/draft-07/schema#', type: 'array', items: [{ type: 'string' }] };
  t.is(schemaFault(old, [1], 'value'), 'value/0 must be string');
});

test('schemas of zod and of MCP servers are accepted', (t) => {
  const zod = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: {
      id: { type: 'string', format: 'uuid', pattern: '^([0-9a-fA-F]{8}-.*)$' },
      size: { type: 'integer', exclusiveMinimum: 0, maximum: 9007199254740991 },
      tags: { default: [], type: 'array', items: { anyOf: [{ type: 'string' }, { type: 'null' }] } },
    },
    required: ['id'],
    additionalProperties: false,
  };
  const mcp = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Args',
    type: 'object',
    properties: { path: { type: 'string', 'x-order': 1, format: 'path' }, depth: { type: ['integer', 'null'] } },
    $defs: { unused: { type: 'string' } },
  };
  t.notThrows(withParameters(zod));
  t.notThrows(withParameters(mcp));
});

test('the time to check an address is linear in its length', (t) => {
  const url = { type: 'string', format: 'url' };
  for (const address of ['https://example.com/a?b=c#d', 'http://localhost:8000', 'ftp://files.example.com/a'])
    t.is(schemaFault(url, address, 'value'), undefined, address);
  for (const text of ['http://', 'mailto:ada@example.com', 'http://a b', 'example.com', 'http://a\n'])
    t.is(schemaFault(url, text, 'value'), 'value must match format "url"', text);
  const start = performance.now();
  t.is(schemaFault(url, `http://${':'.repeat(20_000)}!`, 'value'), 'value must match format "url"');
  t.true(performance.now() - start < 1000);
});

test('all faults of a small value are named, so that they can be corrected together', (t) => {
  const schema = { type: 'object', required: ['b'], properties: { a: { type: 'number' } } };
  t.is(
    schemaFault(schema, { a: 'x' }, 'arguments'),
    "arguments must have required property 'b', arguments/a must be number",
  );
});

test('the check of a large value ends at its first fault', (t) => {
  const zeros = Array.from({ length: 1_000_000 }, () => 0);
  const start = performance.now();
  t.is(schemaFault({ items: { type: 'string' } }, zeros, 'value'), 'value/0 must be string');
  const anyOf = [{ type: 'string' }, { type: 'boolean' }];
  t.is(
    schemaFault({ items: { anyOf } }, zeros, 'value'),
    'value/0 must be string, value/0 must be boolean, value/0 must match a schema in anyOf',
  );
  t.true(performance.now() - start < 1500);
});

test('the text of a fault is bounded, however long the names in the value are', (t) => {
  const schema = { additionalProperties: { anyOf: Array.from({ length: 30 }, () => ({ type: 'string' })) } };
  const fault = schemaFault(schema, { ['x'.repeat(1_000_000)]: 0 }, 'value') ?? '';
  t.regex(fault, /^value\/x{100}/);
  t.true(fault.length < 2100);
});

test('two tools may use the same $id', (t) => {
  const parameters = { $id: 'https://example.com/args', type: 'object' };
  t.notThrows(withParameters(parameters));
  t.notThrows(withParameters({ ...parameters }));
});

test('a bad schema stops compile(), which names the tool', (t) => {
  const message = /^the parameters of tool "look_up" cannot be compiled as JSON Schema: /;
  t.throws(withParameters({ type: 'objekt' }), { message });
  t.throws(withParameters({ $ref: '#/$defs/gone' }), { message });
  t.throws(withParameters({ $schema: 'http://json-schema.org/draft-03/schema#' }), { message });
  const remote = remoteTool({ name: 'look_up', description: '', parameters: { required: 'id' } });
  t.throws(
    () =>
      new StateGraph({})
        .addNode('tools', toolNode([remote]))
        .addEdge(START, 'tools')
        .compile(),
    { message },
  );
});

test('a bad schema or type of a field stops compile(), which names the field', (t) => {
  const compiled = (spec: object) => () =>
    new StateGraph({ order: field(spec as never) })
      .addNode('a', () => undefined)
      .addEdge(START, 'a')
      .compile();
  t.throws(compiled({ type: 'object', schema: { properties: 5 } }), { message: /^the schema of field "order" / });
  t.throws(compiled({ type: 'text' }), { message: /^the type of field "order" is none of string, / });
  t.notThrows(compiled({ type: 'object', schema: { properties: { id: { type: 'string' } } } }));
});

test('compiled schemas are kept for further values, up to a number of bytes of their texts', (t) => {
  const large = (): Readonly<Record<string, unknown>> => ({ type: 'string', description: 'x'.repeat(300_000) });
  const [first, ...others] = Array.from({ length: 8 }, large);
  const compiled = compileSchema(first ?? {});
  t.is(compileSchema(first ?? {}), compiled);
  for (const other of others) compileSchema(other);
  t.not(compileSchema(first ?? {}), compiled);
});

test('schemas with the same id are schemas of their own', (t) => {
  const schemaOf = (type: string): Readonly<Record<string, unknown>> => ({
    ...{ $id: 'https://example.org/order', type: 'object' },
    properties: { number: { $id: 'number', type }, again: { $ref: 'number' } },
  });
  t.is(schemaFault(schemaOf('string'), { again: 'a' }, 'value'), undefined);
  t.is(schemaFault(schemaOf('integer'), { again: 'a' }, 'value'), 'value/again must be integer');
});

test('a fault does not hold the pattern of a schema', (t) => {
  const schema = { type: 'object', properties: { id: { type: 'string', pattern: '^secret-[a-z]+$' } } };
  const fault = schemaFault(schema, { id: 'x' }, 'value');
  t.is(fault, 'value/id must match the pattern of its schema');
});
