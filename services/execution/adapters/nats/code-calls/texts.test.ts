import test from 'ava';
import fc from 'fast-check';
import { ServiceError } from '@agent-workflow/kit/errors';
import { fromCallText, fromReplyText, toCallText, toErrorText, toReplyText } from './texts.ts';

const bytesOf = (values: Readonly<Record<string, unknown>>): Record<string, Buffer> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, Buffer.from(JSON.stringify(value))]));

/** What JSON can hold, as it reads it back: no -0. */
const json = fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)) as unknown);
const values = fc.dictionary(fc.string(), json).map((given) => Object.fromEntries(Object.entries(given)));

test('whatever is called and replied comes as it was sent', (t) => {
  fc.assert(
    fc.property(values, values, fc.option(fc.string(), { nil: undefined }), (current, given, revision) => {
      const call = { agent: 'a', given, current: bytesOf(current), ...(revision === undefined ? {} : { revision }) };
      t.deepEqual(fromCallText(toCallText(call)), call);
      t.deepEqual(fromReplyText(toReplyText(bytesOf(given))), bytesOf(given));
    }),
  );
});

test('a refusal comes with its field, a failure without its text, and what is neither is a failure', (t) => {
  const details = [{ field: ['state', 'n', 0], msg: 'no', type: 'x' }];
  const refusal = new ServiceError('Invalid', 'state.n: no', { details, cause: new Error('secret') });
  const thrown = t.throws(() => fromReplyText(toErrorText(refusal)), { instanceOf: ServiceError });
  t.deepEqual(
    [thrown.code, thrown.message, thrown.details, thrown.cause],
    ['Invalid', 'state.n: no', details, undefined],
  );
  t.throws(() => fromReplyText(toErrorText(new Error('secret'))), { message: 'the state could not be updated' });
  for (const text of ['{}', '{"error":1}', '{"error":{"code":"Own","message":"m"}}', '{"fields":[]}'])
    t.throws(() => fromReplyText(Buffer.from(text)), { code: 'Internal' });
  for (const text of [
    '{}',
    '[]',
    '{"agent":"a","given":{},"current":{},"revision":1}',
    '{"agent":"a","given":[],"current":{}}',
  ])
    t.throws(() => fromCallText(Buffer.from(text)), { message: 'this is no call' });
});
