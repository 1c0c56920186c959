import { status } from '@grpc/grpc-js';
import test from 'ava';
import fc from 'fast-check';
import { errorCodes, ServiceError } from '@agent-workflow/kit/errors';
import { fromStatus, toStatus } from './status.ts';

test('any error comes out as it went in', (t) => {
  const detail = fc.record({ field: fc.array(fc.oneof(fc.string(), fc.nat())), msg: fc.string(), type: fc.string() });
  const extras = fc.record(
    { details: fc.array(detail, { maxLength: 5 }), retryAfterMs: fc.nat() },
    { requiredKeys: ['details'] },
  );
  fc.assert(
    fc.property(fc.constantFrom(...errorCodes), fc.string({ unit: 'grapheme' }), extras, (code, message, extra) => {
      const sent = new ServiceError(code, message, extra);
      const wire = toStatus(sent);
      const got = fromStatus(wire.code, wire.error, undefined);
      t.deepEqual(
        [got.code, got.message, got.details, got.retryAfterMs],
        [sent.code, sent.message, sent.details, sent.retryAfterMs],
      );
    }),
  );
});

test('the cause never crosses the wire', (t) => {
  const wire = toStatus(new ServiceError('Internal', 'sorry', { cause: new Error('hunter2') }));
  t.notRegex(wire.error.toString() + wire.details, /hunter2/);
});

test('an error too large for the headers loses its last details, never its code', (t) => {
  const details = Array.from({ length: 5000 }, (_, index) => ({ field: ['messages', index], msg: 'wrong', type: 'x' }));
  const wire = toStatus(new ServiceError('Invalid', 'ä'.repeat(10_000), { details }));
  const got = fromStatus(wire.code, wire.error, undefined);
  t.true(wire.error.length <= 16 * 1024);
  t.is(got.code, 'Invalid');
  t.deepEqual(got.details[0], details[0]);
});

test('a status that is not ours still gets a code of ours, and a sentence without hosts', (t) => {
  const codeOf = (foreign: status): ServiceError => fromStatus(foreign, undefined, new Error('10.0.0.7 refused'));
  t.like(codeOf(status.UNAVAILABLE), { code: 'Unavailable', retryAfterMs: 1000 });
  t.like(codeOf(status.DEADLINE_EXCEEDED), { code: 'Timeout', retryAfterMs: 1000 });
  t.is(codeOf(status.CANCELLED).code, 'Cancelled');
  t.is(codeOf(status.RESOURCE_EXHAUSTED).code, 'TooLarge');
  t.is(codeOf(status.UNIMPLEMENTED).code, 'Internal');
  const all = Object.values(status).filter((value) => typeof value === 'number');
  t.true(all.every((code) => !codeOf(code).message.includes('10.0.0.7')));
});

test('metadata under our key that we did not write is ignored', (t) => {
  for (const text of ['', 'null', '{}', '{"code":"NoSuchCode"}', 'not json']) {
    t.is(fromStatus(status.NOT_FOUND, Buffer.from(text), undefined).code, 'NotFound', text);
  }
});
