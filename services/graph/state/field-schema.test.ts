import { type as arktype } from 'arktype';
import test from 'ava';
import * as v from 'valibot';
import { z } from 'zod';
import { StateGraph } from '../build/graph.ts';
import { END, START } from '../build/names.ts';
import { walk } from '../testing.ts';
import { field, misfit, type Field } from './field.ts';
import type { StandardSchema } from './standard-schema.ts';

const order = z.object({ dish: z.string().min(1), count: z.int() });

test('a schema of a library is the type of a field, for nodes, for the checker and as JSON Schema', async (t) => {
  const graph = new StateGraph({
    orders: field({ schema: z.array(order), default: [], reducer: (had, more) => [...had, ...more] }),
    latest: field({ schema: order, description: 'The latest order' }),
  })
    .addNode('order', ({ orders, latest }) => {
      const count: number = orders.length + (latest?.count ?? 1);
      return { orders: [{ dish: 'soup', count }], latest: { dish: 'soup', count } };
    })
    .addEdge(START, 'order')
    .addEdge('order', END)
    .compile();
  t.like(graph.fields['orders'], { type: 'array', schema: { type: 'array' } });
  t.like(graph.fields['latest'], { type: 'object', description: 'The latest order' });
  const { state } = await walk(graph);
  t.deepEqual(state.values, {
    orders: [{ dish: 'soup', count: 1 }],
    latest: { dish: 'soup', count: 1 },
    context_summary: '',
  });
});

const misfitOf = ({ spec }: Field<unknown>, value: unknown): string | undefined => misfit(spec, value);

test('a value that breaks the schema is refused, by its JSON Schema or by a check that JSON Schema cannot say', (t) => {
  const latest: Field<unknown> = field({ schema: order.refine(({ dish }) => dish !== 'stone', 'is no dish') });
  t.is(misfitOf(latest, { dish: 'soup', count: 1 }), undefined);
  t.is(misfitOf(latest, { dish: '', count: 1 }), 'value/dish must NOT have fewer than 1 characters');
  t.is(misfitOf(latest, { dish: 'stone', count: 1 }), 'value: is no dish');
  t.is(misfitOf(latest, 'soup'), 'must be an object, not string');
});

test('ArkType gives the type of a field too, and several types are any', (t) => {
  t.is(field({ schema: arktype('number.integer') }).spec.type, 'integer');
  const either: Field<string | boolean> = field({ schema: arktype('string | boolean'), default: '' });
  t.is(either.spec.type, 'any');
  t.truthy(misfitOf(either, 1));
});

test('a schema that cannot be written as JSON Schema is refused, and may be given beside one', (t) => {
  const text = v.pipe(v.string(), v.startsWith('a'));
  t.throws(() => field({ schema: text, default: 'a' }), { message: /^a schema of valibot .*; give it as "check"/ });
  const name: Field<unknown> = field<string>({ type: 'string', default: 'a', check: text });
  t.is(misfitOf(name, 'ab'), undefined);
  t.regex(String(misfitOf(name, 'b')), /^value: Invalid start/);
});

test('a schema that waits, or throws, refuses the value and says so', (t) => {
  const waits: Field<unknown> = field({ schema: z.string().refine(async () => false) });
  t.is(misfitOf(waits, 'a'), 'value: this schema of zod checks asynchronously, which is not possible here');
  const standard: StandardSchema = {
    '~standard': {
      version: 1,
      vendor: 'own',
      jsonSchema: { input: () => ({}), output: () => ({}) },
      validate: () => {
        throw new Error('no');
      },
    },
  };
  const throws: Field<unknown> = field({ schema: standard });
  t.is(misfitOf(throws, 'a'), 'value: no');
});

test('a check by a library does not hold its pattern either', (t) => {
  for (const check of [z.string().regex(/^secret-[a-z]+$/), v.pipe(v.string(), v.regex(/^secret-[a-z]+$/))])
    t.is(misfit({ type: 'string', check }, 'x'), 'value: must match the pattern of its schema');
});
