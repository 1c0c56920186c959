import test from 'ava';
import { formOf } from '../../ui/forms/schema-form.ts';
import { countSet, defaultOptions, readOptions, stateFormOf } from './run-options.ts';

const form = formOf({ type: 'object', properties: { turns: { type: 'integer' }, name: { type: 'string' } } });

test('options at their defaults are left to the service', (t) => {
  t.deepEqual(readOptions(defaultOptions, { form }), { request: { config: {}, response_granularity: 'low' } });
  t.is(countSet(defaultOptions), 0);
});

test('each option stands where the service reads it', (t) => {
  const options = {
    ...({ granularity: 'full', recursionLimit: '7', strategy: 'reject', threadName: 'A trip' } as const),
    ...{ config: '{"gate":"x"}', state: { turns: '3' }, stateJson: '{"more":[1]}' },
  };
  t.deepEqual(readOptions(options, { form }), {
    request: {
      config: { gate: 'x', multitask_strategy: 'reject', thread_name: 'A trip' },
      response_granularity: 'full',
      recursion_limit: 7,
      initial_state: { turns: 3, more: [1] },
    },
  });
  t.is(countSet(options), 7);
});

test('a thread in the further config is refused at its field: the chat gives the thread', (t) => {
  const { errors } = readOptions({ ...defaultOptions, config: '{"thread_id":"t","gate":"x"}' }, { form });
  t.deepEqual(errors, { config: 'must not name `thread_id`: the chat gives the thread' });
});

test('a run names its agent, which the further config must not name too; without one that is a field of the nodes', (t) => {
  t.like(readOptions(defaultOptions, { agent: 'billing' }), { request: { config: { agent: 'billing' } } });
  const options = { ...defaultOptions, config: '{"agent":"support"}' };
  t.deepEqual(Object.keys(readOptions(options, { agent: 'billing' }).errors ?? {}), ['config']);
  t.like(readOptions(options, {}), { request: { config: { agent: 'support' } } });
});

test('all that cannot be read is named at once', (t) => {
  const options = { ...defaultOptions, recursionLimit: '0', config: '[]', stateJson: '{', state: { turns: 'many' } };
  t.deepEqual(Object.keys(readOptions(options, { form }).errors ?? {}).sort(), [
    'config',
    'recursionLimit',
    'stateJson',
    'turns',
  ]);
});

test('the initial state has a field for each of the graph, held to its schema and without those of the service', (t) => {
  const town = { $defs: { town: { enum: ['Lisbon'] } }, $ref: '#/$defs/town' };
  const { fields } = stateFormOf({
    fields: { season: { type: 'string' }, town: { type: 'string', schema: town }, context: { type: 'array' } },
    properties: { season: { type: 'string', enum: ['summer'] }, town: { type: 'string', description: 'Where' } },
  });
  t.deepEqual(
    fields.map(({ name, kind, isRequired }) => [name, kind, isRequired]),
    [
      ['season', 'choice', false],
      ['town', 'choice', false],
    ],
  );
  t.like(fields[1], { choices: ['"Lisbon"'], description: 'Where' });
  t.deepEqual(stateFormOf({}).fields, []);
});
