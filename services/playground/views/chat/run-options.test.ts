import test from 'ava';
import { formOf } from '../../ui/forms/schema-form.ts';
import { countSet, defaultOptions, readOptions } from './run-options.ts';

const form = formOf({ type: 'object', properties: { turns: { type: 'integer' }, name: { type: 'string' } } });

test('options at their defaults are left to the service', (t) => {
  t.deepEqual(readOptions(defaultOptions, form), { request: { config: {}, response_granularity: 'low' } });
  t.is(countSet(defaultOptions), 0);
});

test('each option stands where the service reads it', (t) => {
  const options = {
    ...({ granularity: 'full', recursionLimit: '7', strategy: 'reject', threadName: 'A trip' } as const),
    ...{ config: '{"gate":"x"}', state: { turns: '3' }, stateJson: '{"more":[1]}' },
  };
  t.deepEqual(readOptions(options, form), {
    request: {
      config: { gate: 'x', multitask_strategy: 'reject', thread_name: 'A trip' },
      response_granularity: 'full',
      recursion_limit: 7,
      initial_state: { turns: 3, more: [1] },
    },
  });
  t.is(countSet(options), 7);
});

test('all that cannot be read is named at once', (t) => {
  const options = { ...defaultOptions, recursionLimit: '0', config: '[]', stateJson: '{', state: { turns: 'many' } };
  t.deepEqual(Object.keys(readOptions(options, form).errors ?? {}).sort(), [
    'config',
    'recursionLimit',
    'stateJson',
    'turns',
  ]);
});
