import { isServiceError } from '@agent-workflow/kit/errors';
import test from 'ava';
import { ListMemories } from '../dialects/v1/schemas/memories.ts';
import { OwnRunsQuery } from '../dialects/v1/schemas/runs.ts';
import { ThreadsQuery } from '../dialects/v1/schemas/threads.ts';
import { readQuery } from './query.ts';

test('parameters are read as their schema asks', (t) => {
  t.deepEqual(readQuery(ThreadsQuery, { limit: '5', offset: '0', search: '7' }), { limit: 5, offset: 0, search: '7' });
  t.deepEqual(readQuery(ListMemories, { config: '{"thread_id":"a"}' }), { config: { thread_id: 'a' } });
});

test('a list of words is given with commas, or as the same parameter several times', (t) => {
  t.deepEqual(readQuery(OwnRunsQuery, { status: 'queued,running' }), { status: ['queued', 'running'] });
  t.deepEqual(readQuery(OwnRunsQuery, { status: ['queued', 'failed,stopped'] }), {
    status: ['queued', 'failed', 'stopped'],
  });
  t.deepEqual(readQuery(OwnRunsQuery, { status: '' }), { status: [''] });
});

test('parameters that the endpoint does not know are left out', (t) => {
  t.deepEqual(readQuery(ThreadsQuery, { limit: '5', colour: 'red' }), { limit: 5 });
});

test('what does not read as its type is left for the validator', (t) => {
  for (const limit of ['', ' 5', '5.0', '0x10', '1e3', 'five', '5;'])
    t.deepEqual(readQuery(ThreadsQuery, { limit }), { limit });
  t.deepEqual(readQuery(ThreadsQuery, { limit: ['1', '2'] }), { limit: ['1', '2'] });
  t.deepEqual(readQuery(ListMemories, { config: '{' }), { config: '{' });
});

test('JSON in a query holds no number that is beyond a double', (t) => {
  const error = t.throws(() => readQuery(ListMemories, { options: '{"depth":1e999}' }));
  t.true(isServiceError(error, 'Invalid'));
  t.is(error.message, 'query.options.depth: must be a number that JSON readers can hold');
});

test('JSON in a query may not set a prototype', (t) => {
  const error = t.throws(() => readQuery(ListMemories, { options: '{"__proto__":{"all":true}}' }));
  t.true(isServiceError(error, 'BadRequest'));
});
