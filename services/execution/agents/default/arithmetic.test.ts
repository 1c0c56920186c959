import test from 'ava';
import { toExpression } from './arithmetic.ts';

const asked: Readonly<Record<string, string>> = {
  '2+2': '2+2',
  'What is 12 * 7?': '12 * 7',
  "what's 12 times 7": '12 * 7',
  'How much is 15% of 80?': '15 / 100 * 80',
  'calculate 1,000,000 divided by 8': '1000000 / 8',
  'please work out 2 to the power of 10.': '2 ^ 10',
  'What is the square root of 144?': 'sqrt(144)',
  'what is sqrt(2) * 3 x 4?': 'sqrt(2) * 3 * 4',
  '17 mod 5 =': '17 % 5',
  'max(1, 2.5) - 3!': 'max(1, 2.5) - 3!',
};

for (const [sentence, expression] of Object.entries(asked)) {
  test(`"${sentence}" asks for ${expression}`, (t) => {
    t.is(toExpression(sentence), expression);
  });
}

for (const sentence of [
  'What is 42?',
  'I was born on 3 May 1990',
  'What is love?',
  'level 3',
  '',
  'x * y',
  'process.exit(1)',
]) {
  test(`"${sentence}" asks for no arithmetic`, (t) => {
    t.is(toExpression(sentence), undefined);
  });
}
