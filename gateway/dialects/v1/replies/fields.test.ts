import test from 'ava';
import { invalid, ServiceError } from '@agent-workflow/kit/errors';
import { invalidAt, located } from '../../../http/fields.ts';
import { toWireError } from './fields.ts';

test('a field that a service names stands where its caller put it', (t) => {
  const places: readonly (readonly [field: readonly (string | number)[], loc: readonly (string | number)[]])[] = [
    [[], ['body']],
    [
      ['messages', 0, 'content'],
      ['body', 'messages', 0, 'content'],
    ],
    [
      ['initialState', 'topic'],
      ['body', 'initial_state', 'topic'],
    ],
    [
      ['tools', 1, 'nodeName'],
      ['body', 'tools', 1, 'node_name'],
    ],
    [['idempotencyKey'], ['header', 'Idempotency-Key']],
    [['cursor'], ['body', 'cursor']],
    [['threadId'], ['path', 'thread_id']],
    [['multitaskStrategy'], ['body', 'config', 'multitask_strategy']],
    [
      ['filters', 'nodeName', '$gt'],
      ['body', 'filters', 'nodeName', '$gt'],
    ],
    [['constructor'], ['constructor']],
    [['user'], ['user']],
  ];
  for (const [field, loc] of places) {
    const [detail] = toWireError(invalid(field, 'is wrong', 'value')).details;
    t.deepEqual(detail?.loc, loc);
  }
});

test('the text of a refusal that names a field names its place in the request', (t) => {
  t.deepEqual(toWireError(invalid(['maxTokens'], 'is too small', 'range')), {
    message: 'body.max_tokens: is too small',
    details: [{ loc: ['body', 'max_tokens'], msg: 'is too small', type: 'range' }],
  });
  const details = [{ field: ['threadId'], msg: 'moved on', type: 'version_conflict' }];
  t.deepEqual(toWireError(new ServiceError('Conflict', 'moved on', { details })), {
    message: 'moved on',
    details: [{ loc: ['path', 'thread_id'], msg: 'moved on', type: 'version_conflict' }],
  });
});

test('a place that the gateway found itself stays as it is', (t) => {
  const detail = { loc: ['query', 'limit'], msg: 'must be >= 1', type: 'greater_than_equal' };
  const expected = { message: 'query.limit: must be >= 1', details: [detail] };
  t.deepEqual(toWireError(invalidAt(detail.loc, detail.msg, detail.type)), expected);
  t.deepEqual(toWireError(new ServiceError('Invalid', expected.message, { details: [located(detail)] })), expected);
});

const ofGet = ({ message, details }: ServiceError) => toWireError({ message, details, method: 'GET' });

test('what a GET names stands in its query', (t) => {
  const { message, details } = ofGet(invalid(['filters', 'city'], 'is wrong', 'value'));
  t.deepEqual(details[0]?.loc, ['query', 'filters', 'city']);
  t.regex(message, /^query\.filters\.city/);
  t.deepEqual(ofGet(invalid(['threadId'], 'is wrong', 'value')).details[0]?.loc, ['path', 'thread_id']);
});
