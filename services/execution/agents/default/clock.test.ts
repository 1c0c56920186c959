import test from 'ava';
import { describeTime } from './clock.ts';

const noon = new Date('2025-11-21T12:00:05Z');

test('the time in an IANA time zone', (t) => {
  t.deepEqual(describeTime(noon, 'America/New_York'), {
    time_zone: 'America/New_York',
    date: 'Friday, 21 November 2025',
    time: '07:00:05',
  });
});

test('a city stands for its time zone, however it is written', (t) => {
  for (const place of ['tokyo', 'Tokyo ', 'asia/tokyo']) t.is(describeTime(noon, place).time_zone, 'Asia/Tokyo');
  t.is(describeTime(noon, 'Buenos Aires').time, '09:00:05');
});

test('without a place it is the time where the service runs', (t) => {
  t.is(describeTime(noon).time_zone, new Intl.DateTimeFormat().resolvedOptions().timeZone);
});

for (const place of ['Atlantis', '', 'Europe/', '../etc']) {
  test(`"${place}" is no time zone`, (t) => {
    t.throws(() => describeTime(noon, place), { message: `there is no time zone named "${place}"` });
  });
}
