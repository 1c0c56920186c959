import { cutEnd } from './words.ts';

/** What people write for the signs of arithmetic. */
const signs: readonly (readonly [RegExp, string])[] = [
  [/(\d),(?=\d{3}(?!\d))/g, '$1'],
  [/(\d(?:\.\d+)?) ?(?:%|percent) of (?=[\d(])/gi, '$1 / 100 * '],
  [/\b(?:plus)\b/gi, '+'],
  [/\b(?:minus)\b|−/gi, '-'],
  [/\b(?:times|multiplied by)\b|×|(?<=\d ?)x(?= ?\d)/gi, '*'],
  [/\bdivided by\b|÷/gi, '/'],
  [/\bto the power of\b|\*\*/gi, '^'],
  [/\bmod(?:ulo)?\b/gi, '%'],
  [/\bthe square root of (\d+(?:\.\d+)?)/gi, 'sqrt($1)'],
];

const asking =
  /^(?:please )?(?:(?:what(?:['’]s| is| does| are)?|how much (?:is|are)|calculate|compute|work out|evaluate|tell me) )*/i;
const asked = / ?(?:equals?|make|=)$/i;

/** One part of an expression, once it is in the calculator's own signs: a number, an operator, the name of a function. */
const part =
  /\d+(?:\.\d+)?(?:e[+-]?\d+)?|\.\d+|[-+*/%^()!, ]|\b(?:sqrt|cbrt|abs|round|floor|ceil|trunc|exp|ln|log|log2|log10|sin|cos|tan|asin|acos|atan|min|max|pow|hypot|pi)\b/iy;
const calculation = /\d ?[-+*/%^!]|[a-z]\d*\(/i;

/** Longer sentences are no arithmetic: the calculator takes 500 characters. */
const charactersOfSentence = 2000;

/** The expression that a sentence asks to be worked out, such as `12 * 7` of "What is 12 times 7?", if it asks for one. */
export function toExpression(sentence: string): string | undefined {
  if (sentence.length > charactersOfSentence) return undefined;
  const bare = cutEnd(cutEnd(sentence.replaceAll(/\s+/g, ' ').replace(asking, ''), ' ?.').replace(asked, ''), ' ?.');
  const signed = signs.reduce((text, [words, sign]) => text.replace(words, sign), bare).trim();
  return isExpression(signed) && calculation.test(signed) ? signed : undefined;
}

/** Whether nothing but parts of expressions stands in it. Each part is read once, and never taken back. */
function isExpression(text: string): boolean {
  let end = 0;
  while (end < text.length) {
    part.lastIndex = end;
    if (!part.test(text)) return false;
    end = part.lastIndex;
  }
  return text !== '';
}
