import { isDeepStrictEqual } from 'node:util';
import { invalidAt, type Loc } from '../http/fields.ts';

type JsonObject = Readonly<Record<string, unknown>>;
type Test = (value: unknown) => boolean;

/** Conditions that one filter has at most. */
const mostConditions = 100;

/**
 * Whether a value passes a filter: each field is equal to what the filter has of it, or passes its operators. A field that is absent is null.
 * An object within a filter is compared field by field, with those alone that it names.
 * @throws Invalid for an operator that is none
 */
export function itemFilter(filter: JsonObject | undefined, loc: Loc): Test | undefined {
  const fields = Object.entries(filter ?? {});
  if (fields.length === 0) return undefined;
  let left = mostConditions;

  const testOf = (wanted: unknown, at: Loc): Test => {
    left -= 1;
    if (left < 0) throw invalidAt(loc, `must have at most ${String(mostConditions)} conditions`, 'too_long');
    if (Array.isArray(wanted)) {
      const tests = wanted.map((one, index) => testOf(one, [...at, index]));
      return (value) =>
        Array.isArray(value) && value.length === tests.length && tests.every((test, index) => test(value[index]));
    }
    if (!isObject(wanted)) return (value) => (value ?? null) === wanted;
    const parts = Object.entries(wanted);
    if (parts.some(([name]) => name.startsWith('$'))) {
      const tests = parts.map(([name, operand]) => operatorOf(name, operand, [...at, name]));
      return (value) => tests.every((test) => test(value));
    }
    const tests = parts.map(([name, part]) => [name, testOf(part, [...at, name])] as const);
    return (value) => isObject(value) && tests.every(([name, test]) => test(fieldOf(value, name)));
  };

  const tests = fields.map(([name, wanted]) => [name, testOf(wanted, [...loc, name])] as const);
  return (value) => isObject(value) && tests.every(([name, test]) => test(fieldOf(value, name)));
}

const fieldOf = (value: JsonObject, name: string): unknown => (Object.hasOwn(value, name) ? value[name] : undefined);

function operatorOf(name: string, operand: unknown, loc: Loc): Test {
  switch (name) {
    case '$eq':
      return (value) => isDeepStrictEqual(value ?? null, operand);
    case '$ne':
      return (value) => !isDeepStrictEqual(value ?? null, operand);
    case '$gt':
      return (value) => isOrdered(value, operand, (order) => order > 0);
    case '$gte':
      return (value) => isOrdered(value, operand, (order) => order >= 0);
    case '$lt':
      return (value) => isOrdered(value, operand, (order) => order < 0);
    case '$lte':
      return (value) => isOrdered(value, operand, (order) => order <= 0);
    default:
      throw invalidAt(loc, 'is no operator: $eq, $ne, $gt, $gte, $lt and $lte are');
  }
}

/** Numbers are compared with numbers, and texts with texts. */
function isOrdered(value: unknown, operand: unknown, test: (order: number) => boolean): boolean {
  if (typeof value === 'number' && typeof operand === 'number') return test(value - operand);
  if (typeof value !== 'string' || typeof operand !== 'string') return false;
  return test(value < operand ? -1 : value > operand ? 1 : 0);
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
