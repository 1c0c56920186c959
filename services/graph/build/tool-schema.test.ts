import { toStandardJsonSchema } from '@valibot/to-json-schema';
import { type as arktype } from 'arktype';
import test from 'ava';
import * as v from 'valibot';
import { z } from 'zod';
import { createReactAgent } from '../model/react-agent.ts';
import { fakeModel, user, walk } from '../testing.ts';
import { remoteTool, tool, type Tool } from './tool.ts';

/** What the model gets as the result of a call with these arguments. */
async function callTool(called: Tool, args: Readonly<Record<string, unknown>>): Promise<unknown> {
  const model = fakeModel([{ call: called.name, args }, 'Done.']);
  const { state } = await walk(createReactAgent({ model, tools: [called] }), { context: [user('?')] });
  const [block] = state.context[2]?.content ?? [];
  return block?.['is_error'] === true ? `Error: ${String(block['output'])}` : block?.['output'];
}

/** Compiles only when the arguments have exactly this type. */
const typed =
  <T>() =>
  <U>(value: U & ([T, U] extends [U, T] ? unknown : never)): U =>
    value;

const named = { name: 'book', description: 'Books a table.' };
const jsonSchema = { type: 'object', properties: { seats: { type: 'integer' } }, required: ['seats'] };

test('a schema of zod describes the arguments, checks them, and gives them as it transforms them', async (t) => {
  const parameters = z.object({
    seats: z.int().min(1),
    day: z.iso.date().transform((day) => new Date(day)),
    window: z.boolean().default(false),
  });
  const book = tool({ ...named, parameters }, (args) => {
    const { seats, day, window } = typed<{ seats: number; day: Date; window: boolean }>()(args);
    return `${seats} on ${day.toUTCString()}, ${window ? 'with' : 'without'} a window`;
  });
  t.like(book.parameters, { type: 'object', required: ['seats', 'day'] });
  t.is(await callTool(book, { seats: 2, day: '2026-05-01' }), '2 on Fri, 01 May 2026 00:00:00 GMT, without a window');
  t.is(
    await callTool(book, { seats: 0, day: '2026-05-01' }),
    'Error: arguments/seats: Too small: expected number to be >=1',
  );
});

test('the schema of the library alone judges: what it takes, JSON Schema does not refuse', async (t) => {
  const parameters = z.object({ seats: z.coerce.number(), note: z.preprocess((note) => note ?? '', z.string()) });
  const book = tool({ ...named, parameters }, ({ seats, note }) => `${typed<number>()(seats)}${note}`);
  t.is(await callTool(book, { seats: '5' }), '5');
  t.is(await callTool(book, { seats: 'five' }), 'Error: arguments/seats: Invalid input: expected number, received NaN');
  const beside = tool(
    { ...named, parameters: jsonSchema, schema: z.object({ seats: z.coerce.number() }) },
    ({ seats }) => seats,
  );
  t.is(await callTool(beside, { seats: '5' }), 5);
});

test('a schema that holds itself checks every level, written by zod or by hand', async (t) => {
  const node = z.object({
    name: z.string(),
    get children() {
      return z.array(node).optional();
    },
  });
  const grow = tool({ ...named, parameters: node }, ({ name }) => name);
  t.is(await callTool(grow, { name: 'a', children: [{ name: 'b' }] }), 'a');
  const byHand = {
    type: 'object',
    properties: { name: { type: 'string' }, children: { type: 'array', items: { $ref: '#' } } },
    required: ['name'],
  };
  const plant = tool({ ...named, parameters: byHand }, ({ name }) => name);
  t.is(await callTool(plant, { name: 'a', children: [{ name: 'b' }] }), 'a');
  t.is(
    await callTool(plant, { name: 'a', children: [{ name: 5 }] }),
    'Error: arguments/children/0/name must be string',
  );
});

test('a schema of ArkType does the same', async (t) => {
  const parameters = arktype({ seats: 'number.integer > 0', 'day?': 'string.date.iso.parse' });
  const book = tool({ ...named, parameters }, (args) => {
    const { seats, day } = typed<{ seats: number; day?: Date }>()(args);
    return `${seats} on ${day?.toUTCString() ?? 'any day'}`;
  });
  t.like(book.parameters, { type: 'object', required: ['seats'] });
  t.is(await callTool(book, { seats: 2 }), '2 on any day');
  t.is(await callTool(book, { seats: 2, day: '2026-05-01T00:00:00Z' }), '2 on Fri, 01 May 2026 00:00:00 GMT');
  t.regex(String(await callTool(book, { seats: 'two' })), /^Error: arguments\/seats: seats must be a number/);
});

test('a schema of Valibot does so by its package for JSON Schema', async (t) => {
  const parameters = toStandardJsonSchema(v.object({ seats: v.number(), name: v.optional(v.string(), 'nobody') }));
  const book = tool({ ...named, parameters }, (args) => {
    const { seats, name } = typed<{ seats: number; name: string }>()(args);
    return `${seats} for ${name}`;
  });
  t.is(await callTool(book, { seats: 2 }), '2 for nobody');
  t.regex(String(await callTool(book, { seats: 'two' })), /^Error: arguments\/seats: Invalid type: Expected number/);
});

test('what JSON Schema cannot say is checked by the schema, also asynchronously, and the model reads why', async (t) => {
  const even = z.object({ seats: z.int().refine(async (seats) => seats % 2 === 0, 'must be even') });
  const book = tool({ ...named, parameters: even }, ({ seats }) => seats);
  t.is(await callTool(book, { seats: 2 }), 2);
  t.is(await callTool(book, { seats: 3 }), 'Error: arguments/seats: must be even');
});

test('a schema that throws is an error for the model, and the tool does not run', async (t) => {
  const parameters = z.object({}).refine(() => {
    throw new Error('the book is closed');
  });
  const book = tool({ ...named, parameters }, () => t.fail());
  t.is(await callTool(book, {}), 'Error: the book is closed');
});

test('a schema that cannot be written as JSON Schema is refused by the name of its tool, which says what to give', (t) => {
  const run = (): undefined => undefined;
  t.throws(() => tool({ ...named, parameters: v.object({ seats: v.number() }) }, run), {
    message:
      'the parameters of tool "book": a schema of valibot cannot be written as JSON Schema; ' +
      'give it as "schema", and the same as JSON Schema as "parameters"',
  });
  t.throws(() => tool({ ...named, parameters: z.object({ day: z.date() }) }, run), {
    message:
      /^the parameters of tool "book": a schema of zod cannot be written as JSON Schema: .*; give it as "schema"/,
  });
});

test('with its JSON Schema beside it any schema checks the arguments', async (t) => {
  const schema = v.object({ seats: v.pipe(v.number(), v.toString()) });
  const book = tool({ ...named, parameters: jsonSchema, schema }, (args) => typed<{ seats: string }>()(args).seats);
  t.is(book.parameters, jsonSchema);
  t.is(await callTool(book, { seats: 2 }), '2');
});

test('the parameters of a remote tool may be such a schema too', (t) => {
  const locate = remoteTool({ ...named, parameters: z.object({ precise: z.boolean() }) });
  t.like(locate.parameters, { type: 'object', properties: { precise: { type: 'boolean' } } });
  t.false('schema' in locate);
  t.throws(() => remoteTool({ ...named, parameters: v.object({}) }), { message: /; give JSON Schema$/ });
});
