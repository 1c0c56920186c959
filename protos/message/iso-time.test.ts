import test from 'ava';
import fc from 'fast-check';
import { readIsoTime } from './iso-time.ts';

const textOf = (text: string): string | undefined => {
  const ms = readIsoTime(text);
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString();
};

test('a date, and a date with a time, are read with and without an offset', (t) => {
  for (const [text, time] of [
    ['2024-02-29', '2024-02-29T00:00:00.000Z'],
    ['2026-01-02T03:04', '2026-01-02T03:04:00.000Z'],
    ['2026-01-02 03:04:05', '2026-01-02T03:04:05.000Z'],
    ['2026-01-02t03:04:05.678912345z', '2026-01-02T03:04:05.678Z'],
    ['2026-01-02T03:04:05+02:00', '2026-01-02T01:04:05.000Z'],
    ['2026-01-02T03:04-2359', '2026-01-03T03:03:00.000Z'],
    ['2026-01-02T03:04:05-00:00', '2026-01-02T03:04:05.000Z'],
  ] as const)
    t.is(textOf(text), time, text);
});

test('a time that no calendar and no clock shows is none', (t) => {
  const days = [
    '2026-02-29',
    '2026-02-30',
    '2026-04-31',
    '2100-02-29',
    '2026-00-10',
    '2026-13-01',
    '2026-01-00',
    '2026-01-32',
  ];
  const clocks = ['24:00', '24:61', '23:60', '12:00:60', '23:59:60', '12:00:61'];
  const offsets = ['+24:00', '-24:00', '+23:60', '+99:99'];
  for (const text of [
    ...days,
    ...days.map((day) => `${day}T10:00:00Z`),
    ...days.map((day) => `${day}T00:30:00+02:00`),
    ...clocks.map((clock) => `2026-01-02T${clock}`),
    ...offsets.map((offset) => `2026-01-02T03:04:05${offset}`),
    ...['', 'soon', '2026', '2026-01', '20260102', '2026-1-2', '2026-01-02T03', '2026-01-02T03:04.5', '2026-01-02Z'],
  ])
    t.is(textOf(text), undefined, text);
});

test('every moment is read from its own text at any offset, and every other day of a month is none', (t) => {
  const time = fc.date({ min: new Date(0), max: new Date('9999-12-30T00:00:00Z'), noInvalidDate: true });
  const two = (value: number): string => String(value).padStart(2, '0');
  fc.assert(
    fc.property(time, fc.integer({ min: -1439, max: 1439 }), (date, minutes) => {
      const local = new Date(date.getTime() + minutes * 60_000).toISOString().slice(0, -1);
      const size = Math.abs(minutes);
      const offset = `${minutes < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`;
      return local.startsWith('-') || local.startsWith('+') || readIsoTime(`${local}${offset}`) === date.getTime();
    }),
  );
  fc.assert(
    fc.property(fc.integer({ min: 1970, max: 9999 }), fc.integer({ min: 1, max: 12 }), (year, month) => {
      const last = new Date(Date.UTC(year, month, 0)).getUTCDate();
      const on = (day: number): number => readIsoTime(`${String(year)}-${two(month)}-${two(day)}`);
      return !Number.isNaN(on(last)) && Number.isNaN(on(last + 1));
    }),
  );
  t.pass();
});
