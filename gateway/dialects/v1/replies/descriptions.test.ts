import { Ajv2020 } from 'ajv/dist/2020.js';
import test from 'ava';
import { endpoints } from '../endpoints/table.ts';
import { errorCodes as domainCodes } from '@agent-workflow/kit/errors';
import { wireCodeOf } from './errors.ts';
import { errorCodes } from '../schemas/errors.ts';
import { extraKinds } from '../../../http/framing.ts';
import { eventKinds } from '@agent-workflow/protos/event-parts';
import { toOpenApi } from './openapi.ts';

type Value = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Value => typeof value === 'object' && value !== null;
const read = (secured: boolean): Value => JSON.parse(JSON.stringify(toOpenApi(endpoints, { secured }))) as Value;

/** The keys of a document below which names stand for what has to be described. */
const named = new Set(['properties', 'headers', 'schemas', 'securitySchemes', 'responses', 'x-events']);
const methods = new Set(['get', 'post', 'put', 'patch', 'delete']);
/** Values that are data and not parts of the document. */
const data = new Set(['example', 'examples', 'default', 'enum', 'const', 'x-error-codes']);

interface Found {
  readonly at: string;
  readonly kind: string;
  readonly isDescribed: boolean;
}

/** Everything that has to be described, each once: a reference is described where it leads, but that of a property beside it. */
function* describable(value: unknown, at = '', kind = ''): Generator<Found> {
  if (!isObject(value)) return;
  const isReference = '$ref' in value && kind !== 'properties' && kind !== 'parameter';
  if (kind !== '' && !isReference) {
    const texts = [value['description'], ...(kind === 'operation' ? [value['summary']] : [])];
    yield { at, kind, isDescribed: texts.every((text) => typeof text === 'string' && text.trim().length > 2) };
  }
  for (const [key, part] of Object.entries(value)) {
    if (!data.has(key)) yield* partsOf(key, part, `${at}/${key}`);
  }
}

function* partsOf(key: string, part: unknown, at: string): Generator<Found> {
  if (key === 'parameters' && Array.isArray(part))
    for (const [index, parameter] of part.entries())
      yield* describable(parameter, `${at}/${String(index)}`, 'parameter');
  else if (named.has(key) && isObject(part))
    for (const [name, each] of Object.entries(part)) yield* describable(each, `${at}/${name}`, key);
  else if (methods.has(key)) yield* describable(part, at, 'operation');
  else if (key === 'requestBody') yield* describable(part, at, 'requestBody');
  else if (key === 'tags' && Array.isArray(part)) {
    for (const tag of part) if (isObject(tag)) yield* describable(tag, `${at}/${String(tag['name'])}`, 'tag');
  } else yield* describable(part, at);
}

const missingIn = (document: Value): string[] =>
  [...describable(document)].filter(({ isDescribed }) => !isDescribed).map(({ at }) => at);

test('every operation, parameter, header, body, reply and property is described', (t) => {
  const found = [...describable(read(true))];
  const counts = Object.groupBy(found, ({ kind }) => kind);
  t.log(Object.fromEntries(Object.entries(counts).map(([kind, list = []]) => [kind, list.length])));
  t.deepEqual(missingIn(read(true)), []);
  t.true((counts['operation']?.length ?? 0) >= endpoints.length);
  t.true((counts['parameter']?.length ?? 0) > 50);
  t.true((counts['properties']?.length ?? 0) > 200);
});

test('what lacks its description is found', (t) => {
  const property = {
    type: 'object',
    title: 'x',
    properties: { added: { type: 'string' }, told: { description: 'What' } },
  };
  const operation = { summary: 'Does', description: 'Does', parameters: [{ name: 'p', schema: {} }], responses: {} };
  t.deepEqual(missingIn({ components: { schemas: { Added: property } } }), [
    '/components/schemas/Added',
    '/components/schemas/Added/properties/added',
  ]);
  t.deepEqual(
    missingIn({ paths: { '/x': { get: operation, put: { ...operation, description: '', parameters: [] } } } }),
    ['/paths//x/get/parameters/0', '/paths//x/put'],
  );
  t.deepEqual(missingIn({ schema: { properties: { thread: { $ref: '#/components/schemas/Id' } } } }), [
    '/schema/properties/thread',
  ]);
});

test('the table of error codes has every code that a reply can have', (t) => {
  const others = ['METHOD_NOT_ALLOWED', 'RANGE_NOT_SATISFIABLE', 'UNSUPPORTED_MEDIA_TYPE'];
  // Nobody reads the reply to a caller that has disconnected.
  const codes = domainCodes.filter((code) => code !== 'Cancelled').map(wireCodeOf);
  t.deepEqual(Object.keys(errorCodes).sort(), [...new Set([...codes, ...others])].sort());
});

test('every kind of event is described with a form and an example', (t) => {
  const events = read(false)['x-events'] as Readonly<Record<string, Value>>;
  t.deepEqual(Object.keys(events).sort(), [...eventKinds, ...extraKinds].sort());
  for (const [kind, { data: form, example }] of Object.entries(events)) {
    t.true(typeof form === 'string' && form.length > 10, kind);
    t.not(example, undefined, kind);
  }
});

test('an operation with a body has an example of it, and every operation an example of its reply', (t) => {
  const paths = read(false)['paths'] as Readonly<Record<string, Readonly<Record<string, Value>>>>;
  const operations = Object.values(paths).flatMap((each) => Object.values(each));
  t.true(operations.length > 40);
  for (const { operationId, requestBody, responses } of operations) {
    const { content: body } = (requestBody ?? {}) as { content?: Readonly<Record<string, Value>> };
    const [taken] = Object.values(body ?? {});
    if (body) t.true(isObject(taken?.['example']), String(operationId));
    // A part of a file is a success beside the whole.
    const replies = Object.entries(responses as Readonly<Record<string, Value>>).filter(([status]) => status < '206');
    t.is(replies.length, 1, String(operationId));
    const content = replies[0]?.[1]['content'] as Readonly<Record<string, Value>>;
    for (const type of Object.values(content)) t.true('example' in type, String(operationId));
  }
});

test('the examples of refusals and of the last event of a run are what their schemas say', (t) => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  const document = read(false);
  ajv.addSchema(document, 'document');
  const fits = (title: string, value: unknown): boolean =>
    ajv.validate<unknown>({ $ref: `document#/components/schemas/${title}` }, value);
  const { responses } = document['components'] as { responses: Readonly<Record<string, { content: Value }>> };
  t.true(Object.keys(responses).length > 10);
  for (const [name, { content }] of Object.entries(responses))
    t.true(fits('Error', (content['application/json'] as Value)['example']), name);
  const events = document['x-events'] as Readonly<Record<string, Value>>;
  t.true(fits('InvokeResult', events['on_chain_end']?.['example']));
  t.false(fits('InvokeResult', events['error']?.['example']));
  t.false(fits('Error', {}));
});
