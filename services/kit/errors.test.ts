import test from 'ava';
import {
  conflict,
  errorCodes,
  fromUnknown,
  invalid,
  isServiceError,
  notFound,
  ServiceError,
  unavailable,
  undefinedIfNotFound,
} from './errors.ts';

test('codes are listed once each', (t) => {
  t.is(new Set(errorCodes).size, errorCodes.length);
});

test('an invalid field is named in the message and in the details', (t) => {
  const error = invalid(['page', 'limit'], 'must be at least 1, not 0', 'greater_than_equal');
  t.is(error.message, 'page.limit: must be at least 1, not 0');
  t.deepEqual(error.details, [
    { field: ['page', 'limit'], msg: 'must be at least 1, not 0', type: 'greater_than_equal' },
  ]);
});

test('an error of something away has a delay for the next attempt, and does not show its cause', (t) => {
  const cause = new Error('ECONNREFUSED 10.0.0.7');
  const error = unavailable('the store is unavailable', cause);
  t.is(error.retryAfterMs, 1000);
  t.is(error.cause, cause);
  t.notRegex(JSON.stringify({ message: error.message, details: error.details }), /ECONNREFUSED/);
});

test('what is not found is undefined, and any other failure stays', async (t) => {
  t.is(await undefinedIfNotFound(Promise.resolve('found')), 'found');
  t.is(await undefinedIfNotFound(Promise.reject<string>(notFound('there is none'))), undefined);
  const error = conflict('a run holds the thread');
  t.is(await t.throwsAsync(undefinedIfNotFound(Promise.reject<string>(error))), error);
});

test('a service error stays the same object', (t) => {
  const error = conflict('a run holds the thread');
  t.is(fromUnknown(error), error);
});

test('any other value becomes Internal, with its text in the cause alone', (t) => {
  for (const thrown of [new TypeError('secret'), 'secret', undefined, { code: 'NotFound', message: 'secret' }]) {
    const error = fromUnknown(thrown);
    t.is(error.code, 'Internal');
    t.notRegex(error.message, /secret/);
    t.is(error.cause, thrown);
  }
});

test('errors are distinguished by code', (t) => {
  const error = new ServiceError('Stale', 'lost the lease');
  t.true(isServiceError(error));
  t.true(isServiceError(error, 'Stale'));
  t.false(isServiceError(error, 'Conflict'));
  t.false(isServiceError(new Error('Stale')));
  t.is(error.name, 'Stale');
});
