import { ServiceError } from '@agent-workflow/kit/errors';
import { Ajv2020 } from 'ajv/dist/2020.js';
import test from 'ava';
import { endpoints } from '../dialects/v1/endpoints/table.ts';
import { toWireError } from '../dialects/v1/replies/fields.ts';
import { RunInput } from '../dialects/v1/schemas/graph.ts';
import { StreamQuery } from '../dialects/v1/schemas/runs.ts';
import { ThreadParams, ThreadsQuery } from '../dialects/v1/schemas/threads.ts';
import type { Loc } from '../http/fields.ts';
import { validator } from './validate.ts';

const message = { role: 'user', content: 'hello' };

/** The first fault of a value, as a caller is told. */
function faultOf(
  schema: Parameters<typeof validator>[0],
  value: unknown,
  source: 'path' | 'query' | 'body' = 'body',
): ReturnType<typeof toWireError>['details'][number] | undefined {
  try {
    validator(schema)(value, () => source);
    return undefined;
  } catch (error) {
    return error instanceof ServiceError ? toWireError(error).details[0] : undefined;
  }
}

test('every schema of the table compiles, and the schema of schemas has nothing against it', (t) => {
  const ajv = new Ajv2020({ strict: false });
  for (const { params, input, reply } of endpoints) {
    for (const schema of [params, input, reply]) {
      if (!schema) continue;
      faultOf(schema, {});
      t.true(ajv.validateSchema(schema), ajv.errorsText());
    }
  }
});

test('a number of a query that would be rounded is refused', (t) => {
  const most = Number.MAX_SAFE_INTEGER;
  for (const [schema, name] of [
    [StreamQuery, 'after'],
    [ThreadsQuery, 'offset'],
  ] as const) {
    t.is(faultOf(schema, { [name]: most }, 'query'), undefined);
    t.like(faultOf(schema, { [name]: Number('99999999999999999999') }, 'query'), {
      loc: ['query', name],
      msg: `must be <= ${String(most)}`,
      type: 'less_than_equal',
    });
  }
});

test('a fault names its place, in lists by number', (t) => {
  const cases: [unknown, Loc, string][] = [
    [{}, ['body', 'messages'], 'missing'],
    [{ messages: [message, { ...message, role: 'robot' }] }, ['body', 'messages', 1, 'role'], 'enum'],
    [{ messages: [{ role: 'user' }] }, ['body', 'messages', 0, 'content'], 'missing'],
    [{ messages: [{ role: 'user', content: 4 }] }, ['body', 'messages', 0, 'content'], 'string_or_array_type'],
    [{ messages: [{ role: 'user', content: [{}] }] }, ['body', 'messages', 0, 'content', 0, 'type'], 'missing'],
    [
      { messages: [{ role: 'user', content: [{ type: 'text' }] }] },
      ['body', 'messages', 0, 'content', 0, 'text'],
      'missing',
    ],
    [{ messages: [message], recursion_limit: 0 }, ['body', 'recursion_limit'], 'greater_than_equal'],
    [{ messages: [message], recursion_limit: 1001 }, ['body', 'recursion_limit'], 'less_than_equal'],
    [{ messages: [message], recursion_limit: 2.5 }, ['body', 'recursion_limit'], 'integer_type'],
    [{ messages: [message], response_granularity: 'all' }, ['body', 'response_granularity'], 'enum'],
    [{ messages: [message], config: { thread_id: 'a/b' } }, ['body', 'config', 'thread_id'], 'string_pattern_mismatch'],
    [{ messages: [message], initial_state: [] }, ['body', 'initial_state'], 'object_type'],
  ];
  for (const [value, loc, type] of cases) {
    const fault = faultOf(RunInput, value);
    t.deepEqual([fault?.loc, fault?.type], [loc, type]);
  }
});

test('blocks of unknown types and unknown fields pass', (t) => {
  const content = [
    { type: 'hologram', depth: 3 },
    { type: 'image', url: 'https://example.com/a.png' },
  ];
  t.is(faultOf(RunInput, { messages: [{ role: 'user', content, mood: 'good' }], colour: 'red' }), undefined);
});

test('identifiers are 1 to 256 characters without slash, control character or half a surrogate pair, and no step of a path', (t) => {
  for (const id of ['a', 'ä ö?#%&=+', '日本', '😀'.repeat(256), '...', '..a', ':'])
    t.is(faultOf(ThreadParams, { thread_id: id }), undefined, id);
  for (const id of ['', '.', '..', 'a/b', 'a\u0000', '\n', '\u007f', '\ud800', 'x'.repeat(257)]) {
    t.deepEqual(faultOf(ThreadParams, { thread_id: id }, 'path')?.loc, ['path', 'thread_id'], JSON.stringify(id));
  }
});

test('defaults are filled in', (t) => {
  const value = {};
  t.is(faultOf(ThreadsQuery, value, 'query'), undefined);
  t.deepEqual(value, { offset: 0, limit: 100 });
});
