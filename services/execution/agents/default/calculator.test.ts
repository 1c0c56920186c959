import fc from 'fast-check';
import test from 'ava';
import { calculate } from './calculator.ts';

const values: Readonly<Record<string, number>> = {
  '2 + 3 * 4': 14,
  '-2 ^ 2': -4,
  '2 ^ 3 ^ 2': 512,
  '0.1 + 0.2': 0.3,
  '17 % 5': 2,
  'sqrt(144) / 5!': 0.1,
  'max(1, pow(2, 3), 7)': 8,
  'round(2 * pi)': 6,
};

for (const [expression, value] of Object.entries(values)) {
  test(`${expression} is ${String(value)}`, (t) => {
    t.is(calculate(expression), value);
  });
}

const refused = [
  '1 / 0',
  '2 3',
  '',
  'a + 1',
  '"x" + 1',
  'x = 3',
  'f(x) = x; f(1)',
  '[1, 2]',
  'random()',
  '1 < 2',
  '(1).constructor',
];

for (const expression of [...refused, 'constructor', '__proto__', 'toString()', 'sqrt.constructor("1")()']) {
  test(`"${expression}" is refused`, (t) => {
    t.throws(() => calculate(expression));
  });
}

test('whatever it is given, it answers a finite number or throws an Error', (t) => {
  const token = fc.constantFrom(
    ..."0123456789.+-*/%^!(),' e".split(''),
    'sqrt(',
    'pow(',
    'pi',
    'constructor',
    '__proto__',
  );
  fc.assert(
    fc.property(fc.array(token, { maxLength: 30 }), (tokens) => {
      try {
        return Number.isFinite(calculate(tokens.join('')));
      } catch (error) {
        return error instanceof Error;
      }
    }),
  );
  t.pass();
});
