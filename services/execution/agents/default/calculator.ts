import { Parser } from 'expr-eval-fork';

const parser = new Parser({
  allowMemberAccess: false,
  operators: {
    assignment: false,
    comparison: false,
    concatenate: false,
    conditional: false,
    fndef: false,
    in: false,
    length: false,
    logical: false,
    random: false,
  },
});
const { min, max, hypot, pow, atan2 } = parser.functions as Readonly<Record<string, unknown>>;
// Numbers are all it is for: what works on lists or text, or answers differently each time, is left out.
parser.functions = { min, max, hypot, pow, atan2 };
parser.consts = { PI: Math.PI, pi: Math.PI, E: Math.E, e: Math.E };

/**
 * The value of an arithmetic expression, without the noise of binary fractions: `0.1 + 0.2` is 0.3.
 * @throws Error when it is no expression, or its value no finite number.
 */
export function calculate(expression: string): number {
  const value: unknown = parser.evaluate(expression);
  if (typeof value !== 'number' || !Number.isFinite(value)) throw new Error('the result is not a finite number');
  return Number(value.toPrecision(15));
}
