import { unavailable } from '@agent-workflow/kit/errors';
import test from 'ava';
import { reasonOf } from './reason.ts';

test('a reason is the message of an error and that of its cause, and what both say only once', (t) => {
  t.is(reasonOf(unavailable('away', new Error('connect ECONNREFUSED\n    at x'))), 'away: connect ECONNREFUSED');
  t.is(reasonOf(unavailable('it is starting', new Error('14 UNAVAILABLE: it is starting'))), 'it is starting');
  t.is(reasonOf(unavailable('away')), 'away');
  t.is(reasonOf('thrown\nso'), 'thrown');
});
