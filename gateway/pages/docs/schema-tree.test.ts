import test from 'ava';
import type { Schema } from './open-api.ts';
import { boundsOf, schemaTree, typeOf } from './schema-tree.ts';

const schemas: Readonly<Record<string, Schema>> = {
  Thread: {
    type: 'object',
    required: ['id'],
    properties: { id: { type: 'string', description: 'Its *name*' }, parts: { type: 'array', items: ref('Part') } },
  },
  Id: { anyOf: [{ type: 'string' }, { type: 'integer' }] },
  Part: { type: 'object', properties: { text: { type: 'string' }, within: ref('Part') } },
};

function ref(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` };
}

const names = (html: string): string[] => [...html.matchAll(/<li><code>(\w+)</g)].map(([, name = '']) => name);

test('a type is said in a few words', (t) => {
  const inWords = (schema: Schema): string => typeOf(schema, schemas);
  t.is(inWords(ref('Thread')), 'Thread');
  t.is(inWords({ type: 'array', items: { anyOf: [{ type: 'string' }, ref('Part')] } }), '(string or Part)[]');
  t.is(inWords({ anyOf: [ref('Id'), { type: 'null' }] }), 'string or integer or null');
  t.is(inWords({ type: 'object', additionalProperties: { type: 'number' } }), 'object of number');
  t.is(inWords({ const: 'done' }), '"done"');
  t.is(inWords({}), 'any');
});

test('what a value must keep to is said in a line', (t) => {
  t.is(boundsOf({ minimum: 1, maximum: 1000, default: 10 }), '1 to 1,000 · default <code>10</code>');
  t.is(boundsOf({ enum: ['a', '<b>'] }), '<code>&quot;a&quot;</code>, <code>&quot;&lt;b&gt;&quot;</code>');
  t.is(boundsOf({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }), '');
  t.is(boundsOf({ minLength: 1, pattern: '^x$' }), 'at least 1 characters · pattern <code>^x$</code>');
});

test('members are shown through references and lists, with what they mean', (t) => {
  const html = schemaTree(ref('Thread'), schemas);
  t.deepEqual(names(html), ['id', 'parts', 'text', 'within']);
  t.regex(html, /<code>id<\/code> <span class="type">string<\/span><span class="need">required<\/span>/);
  t.regex(html, /Its <em>name<\/em>/);
});

test('a schema within itself is named, and not shown again', (t) => {
  t.deepEqual(names(schemaTree(ref('Part'), schemas)), ['text', 'within']);
});

test('alternatives with members are shown each by its name', (t) => {
  const html = schemaTree({ anyOf: [ref('Thread'), ref('Part'), { type: 'null' }] }, schemas);
  t.regex(html, /<summary>Thread<\/summary>/);
  t.regex(html, /<summary>Part<\/summary>/);
  t.deepEqual(names(schemaTree({ anyOf: [ref('Part'), { type: 'null' }] }, schemas)), ['text', 'within']);
});

test('what a schema is said to be as well has its members, too', (t) => {
  const both: Schema = { allOf: [ref('Part'), { properties: { more: { type: 'string' } }, required: ['more'] }] };
  t.deepEqual(names(schemaTree(both, schemas)), ['text', 'within', 'text', 'within', 'more']);
});

test('a value without members has no tree', (t) => {
  t.is(schemaTree({ type: 'string' }, schemas), '');
  t.is(schemaTree({ type: 'object', additionalProperties: true }, schemas), '');
});
