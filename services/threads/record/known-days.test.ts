import test from 'ava';
import type { ResourceWrite } from '../ports/resources.ts';
import { createKnownDays } from './known-days.ts';

const hour = 3_600_000;
const writeOf = (owner: string, id: string): ResourceWrite => ({
  ...{ kind: 'question', owner, id, version: 1, at: 0, attempt: 'a', json: Buffer.from('{}') },
});

test('a day that was written is known until it may have been removed, and nothing but days is', (t) => {
  let now = Date.UTC(2026, 10, 30, 12);
  const days = createKnownDays(() => now);
  const today = writeOf('days:manager', '2026-11-30');
  const entry = writeOf('role:2026-11-30:manager', 'x');
  t.false(days.isKnown(today));
  days.add([today, entry]);
  t.true(days.isKnown(today));
  t.false(days.isKnown(entry));
  t.false(days.isKnown(writeOf('days:clerk', '2026-11-30')));
  now += 30 * hour;
  t.false(days.isKnown(today));
});
