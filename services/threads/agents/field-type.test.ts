import test from 'ava';
import { typeFault } from './field-type.ts';

const fault = (type: unknown, json: string): string | undefined => typeFault(type, Buffer.from(json))?.msg;

test('what a text of JSON is can be seen by its first character', (t) => {
  const texts = {
    string: '"7"',
    number: '-7.5',
    boolean: 'false',
    object: ' \n{"a":1}',
    array: '[]',
  };
  for (const type of Object.keys(texts))
    for (const [kind, json] of Object.entries({ ...texts, null: 'null' })) {
      const fits = kind === type || (type === 'object' && kind === 'string');
      const refused = `must be ${/^[ao]/.test(type) ? 'an' : 'a'} ${type}, not ${kind}`;
      t.is(fault(type, json), fits ? undefined : refused, `${type} ${json}`);
    }
});

test('an integer is a number without a fraction that JavaScript holds exactly', (t) => {
  for (const json of ['0', '-3', '1.0', '2e3', String(Number.MAX_SAFE_INTEGER)])
    t.is(fault('integer', json), undefined, json);
  for (const json of ['0.5', '1e300', '9007199254740992'])
    t.is(fault('integer', json), 'must be an integer, not number');
});

test('any value fits the type any, and a type that is not known here', (t) => {
  for (const type of ['any', 'date', undefined, {}])
    for (const json of ['"a"', '1', 'null', '{}', '']) t.is(fault(type, json), undefined);
  t.is(fault('string', ''), 'must be a string, not JSON of no kind');
});
