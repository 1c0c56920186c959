import test from 'ava';
import fc from 'fast-check';
import { isServiceError, ServiceError } from '@agent-workflow/kit/errors';
import { fromCallText, fromReplyText, toCallText, toErrorText, toReplyText } from './texts.ts';

const bytesOf = (values: Readonly<Record<string, unknown>>): Record<string, Buffer> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, Buffer.from(JSON.stringify(value))]));

/**
 * Characters without the backslash. `JSON.parse` of Node 24 (V8 13.6) reads the key `"\""` as a backslash where an object of the process has a
 * backslash for a key at the same place.
 */
const unit = fc.string({ minLength: 1, maxLength: 1 }).filter((character) => character !== '\\');
/** What JSON can hold, as it reads it back: no -0. */
const json = fc.jsonValue({ stringUnit: unit }).map((value) => JSON.parse(JSON.stringify(value)) as unknown);
const values = fc.dictionary(fc.string({ unit }), json).map((given) => Object.fromEntries(Object.entries(given)));

test('whatever is called and replied comes as it was sent', (t) => {
  fc.assert(
    fc.property(values, values, fc.option(fc.string(), { nil: undefined }), (current, given, revision) => {
      const call = { agent: 'a', given, current: bytesOf(current), ...(revision === undefined ? {} : { revision }) };
      t.deepEqual(fromCallText(toCallText(call)), call);
      t.deepEqual(fromReplyText(toReplyText(bytesOf(given))), bytesOf(given));
    }),
  );
});

test('a refusal comes with its field, and a failure without its text', (t) => {
  const details = [{ field: ['state', 'n', 0], msg: 'no', type: 'x' }];
  const refusal = new ServiceError('Invalid', 'state.n: no', { details, cause: new Error('secret') });
  const read = fromReplyText(toErrorText(refusal));
  t.true(isServiceError(read));
  t.like(read, { code: 'Invalid', message: 'state.n: no', details, cause: undefined });
  t.like(fromReplyText(toErrorText(new Error('secret'))), { message: 'the state could not be updated' });
});

const errorOf = (more: object): string =>
  JSON.stringify({ error: { code: 'Invalid', message: 'm', details: [], ...more } });

test('what no worker of ours replies is no reply, and what is no call no call', (t) => {
  const detail = { field: ['state'], msg: 'm', type: 't' };
  t.true(isServiceError(fromReplyText(Buffer.from(errorOf({ details: [detail] })))));
  for (const text of [
    ...['', 'not json', '{}', '[]', 'null', '{"error":1}', '{"fields":[]}', '{"fields":{"n":1e999}}'],
    `{"fields":{"n":${'['.repeat(200_000)}${']'.repeat(200_000)}}}`,
    ...['Own', 'Conflict', 'Unauthenticated', 7].map((code) => errorOf({ code })),
    ...[errorOf({ message: {} }), errorOf({ details: {} }), errorOf({ details: [null] })],
    ...[{ field: 'state' }, { field: [{}] }, { msg: 1 }, { type: null }].map((wrong) =>
      errorOf({ details: [{ ...detail, ...wrong }] }),
    ),
    errorOf({ details: Array.from({ length: 1000 }, () => detail) }),
  ])
    t.is(fromReplyText(Buffer.from(text)), undefined, text.slice(0, 100));
  for (const text of [
    '{}',
    '[]',
    '{"agent":"a","given":{},"current":{},"revision":1}',
    '{"agent":"a","given":[],"current":{}}',
  ])
    t.throws(() => fromCallText(Buffer.from(text)), { message: 'this is no call' });
});
