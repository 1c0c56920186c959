import test from 'ava';
import { faultOfFormat, knownFormat } from './formats.ts';

const cases: Readonly<Record<string, readonly [good: readonly string[], bad: readonly string[]]>> = {
  email: [
    ['ada@example.com', 'a.b+c@sub.example.org', 'ada@localhost', 'ada@bücher.example'],
    [
      '',
      'ada',
      '@example.com',
      'ada@',
      'a b@example.com',
      'a@b@example.com',
      'ada@-a.com',
      'ada@a..com',
      `${'a'.repeat(65)}@b.c`,
    ],
  ],
  date: [
    ['2026-03-31', '2028-02-29', '0000-02-29', '9999-12-31'],
    [
      '',
      '31.03.2026',
      '2026-3-1',
      '2026-13-01',
      '2026-00-01',
      '2026-04-31',
      '2027-02-29',
      '1900-02-29',
      '2026-03-31T14:00:00Z',
    ],
  ],
  'date-time': [
    ['2026-03-31T14:00:00Z', '2026-03-31t14:00:00.123+02:00', '2026-12-31T23:59:60Z'],
    ['', '2026-03-31', '2026-03-31T14:00:00', '2026-03-31T24:00:00Z', '2026-02-31T14:00:00Z', '2026-03-31T14:00Z'],
  ],
  uri: [
    ['https://example.com/a?b#c', 'mailto:ada@example.com', 'urn:isbn:1'],
    ['', 'example.com', '/a', 'https://', 'https://example.com/a b', 'https://example.com/ü'],
  ],
};

for (const [format, [good, bad]] of Object.entries(cases)) {
  test(`a text is held to the format ${format}`, (t) => {
    for (const text of good) t.is(faultOfFormat(format, text), undefined, text);
    for (const text of bad) t.regex(faultOfFormat(format, text) ?? '', /^must be an? /, text);
  });
}

test('a format that is not known is not checked', (t) => {
  t.is(knownFormat('email'), 'email');
  for (const name of ['hostname', 'constructor', 7, undefined]) t.is(knownFormat(name), undefined);
});

test('a long text of each format is judged at once', (t) => {
  const started = performance.now();
  for (const format of Object.keys(cases))
    for (const part of ['a.', '0', '-', '@', ' ']) t.truthy(faultOfFormat(format, `${part.repeat(500_000)}!`));
  t.true(performance.now() - started < 5000);
});
