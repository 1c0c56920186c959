/** What people write for the signs of arithmetic. */
const signs: readonly (readonly [RegExp, string])[] = [
  [/(\d),(?=\d{3}(?!\d))/g, '$1'],
  [/(\d(?:\.\d+)?) ?(?:%|percent) of (?=[\d(])/gi, '$1 / 100 * '],
  [/\b(?:plus)\b/gi, '+'],
  [/\b(?:minus)\b|−/gi, '-'],
  [/\b(?:times|multiplied by)\b|×|(?<=\d\s*)x(?=\s*\d)/gi, '*'],
  [/\bdivided by\b|÷/gi, '/'],
  [/\bto the power of\b|\*\*/gi, '^'],
  [/\bmod(?:ulo)?\b/gi, '%'],
  [/\bthe square root of (\d+(?:\.\d+)?)/gi, 'sqrt($1)'],
];

const asking =
  /^(?:please )?(?:(?:what(?:['’]s| is| does| are)?|how much (?:is|are)|calculate|compute|work out|evaluate|tell me)\s+)*/i;
const asked = /\s*(?:equals?|make|=)?[\s?.]*$/i;

/** What an expression is made of, once it is in the calculator's own signs: numbers, operators, names of functions. */
const expression =
  /^(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|\.\d+|[-+*/%^()!,\s]|\b(?:sqrt|cbrt|abs|round|floor|ceil|trunc|exp|ln|log|log2|log10|sin|cos|tan|asin|acos|atan|min|max|pow|hypot|pi)\b)+$/i;
const calculation = /\d\s*[-+*/%^!]|[a-z]\d*\(/i;

/** The expression that a sentence asks to be worked out, such as `12 * 7` of "What is 12 times 7?", if it asks for one. */
export function toExpression(sentence: string): string | undefined {
  const bare = sentence.replace(asking, '').replace(asked, '');
  const signed = signs.reduce((text, [words, sign]) => text.replace(words, sign), bare).trim();
  return expression.test(signed) && calculation.test(signed) ? signed : undefined;
}
