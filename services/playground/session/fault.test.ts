import { RequestError } from '@agent-workflow/client';
import test from 'ava';
import { faultOf } from './fault.ts';

const refusedWith = (status: number, given: object = {}) =>
  faultOf(new RequestError('no', { status, code: 'X', ...given }));

test('a failure says what happened, with the places that the service names', (t) => {
  const fault = refusedWith(422, { details: [{ loc: ['body', 'name'], msg: 'must be a text' }], requestId: 'r1' });
  t.is(fault.what, 'no; body.name: must be a text');
  t.is(fault.requestId, 'r1');
  t.false(fault.canRetry);
});

test('what may pass by itself can be tried again, what was refused cannot', (t) => {
  t.deepEqual(
    [0, 401, 403, 404, 409, 422, 429, 500, 503].filter((status) => refusedWith(status).canRetry),
    [0, 401, 403, 429, 500, 503],
  );
});

test('a fault of the page is its own, and no request has an id', (t) => {
  const fault = faultOf(new TypeError('x is undefined'));
  t.is(fault.what, 'x is undefined');
  t.regex(fault.advice, /The page itself/);
  t.is(fault.requestId, undefined);
});
