import { isDeepStrictEqual } from 'node:util';
import { invalid } from '@agent-workflow/kit/errors';
import type { Selection } from '@agent-workflow/protos/memory';
import { readTime } from '@agent-workflow/protos/message';
import { fieldOf, isObject, readObject } from './json.ts';
import { timeOf } from './order.ts';
import type { MemoryHead } from '../ports/memory.ts';
import type { MetadataMatch, Narrowing, Scalar } from '../ports/query.ts';

/** A selection that was read: the filters that a store applies, and a test for the others. */
export interface Selected {
  readonly narrowing: Narrowing;
  /** Absent when `narrowing` holds all filters. */
  readonly accepts?: (head: MemoryHead) => boolean;
}

type Test = (value: unknown) => boolean;

/**
 * Reads the filters of a request. A field is compared for equality with any JSON value (`null` matches null, and no absent field), or
 * by an object of operators that must all hold. `thread_id`, `memory_type` and `category` are the memory's own, and so is
 * `timestamp`, unless its metadata has a field of that name; every other name is a field of its metadata.
 * @throws Invalid at the filter that is wrong.
 */
export function readSelection({ memoryType, category, threadId, filtersJson }: Selection, now: number): Selected {
  const narrowing = { memoryType, category, threadId, aliveAt: now };
  if (filtersJson === undefined) return { narrowing };
  const filters = Object.entries(readObject(filtersJson, ['filters']));
  if (filters.length === 0) return { narrowing };
  refuseMany(filters);
  const tests = filters.map(([field, condition]) => toHeadTest(field, condition));
  const metadata = filters.flatMap(([field, condition]) => toMatch(field, condition));
  return {
    narrowing: { ...narrowing, ...(metadata.length > 0 && { metadata }) },
    accepts: (head) => tests.every((test) => test(head)),
  };
}

/** The most values that the filters of one request compare with, those of every `$in` counted: each is compared with many memories. */
const maxValues = 1000;

/** @throws Invalid at the filter with which the filters together exceed {@link maxValues}. */
function refuseMany(filters: readonly (readonly [string, unknown])[]): void {
  let values = 0;
  for (const [field, condition] of filters) {
    values += valuesIn(condition);
    if (values > maxValues)
      throw invalid(
        ['filters', field],
        `must not compare with more than ${String(maxValues)} values in all`,
        'too_long',
      );
  }
}

/** With how many values a condition compares. A list that is compared as a whole is one value. */
function valuesIn(condition: unknown): number {
  if (!hasOperators(condition)) return 1;
  const counts = Object.entries(condition).map(([operator, operand]) =>
    operator === '$in' && Array.isArray(operand) ? operand.length : 1,
  );
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Whether a selection excludes anything. */
export const narrows = ({ narrowing, accepts }: Selected): boolean =>
  accepts !== undefined || Object.values({ ...narrowing, aliveAt: undefined }).some((value) => value !== undefined);

const ownFields: Readonly<Record<string, (head: MemoryHead) => string>> = {
  thread_id: (head) => head.threadId,
  memory_type: (head) => head.memoryType,
  category: (head) => head.category,
};

const valueOf = (head: MemoryHead, field: string): unknown =>
  Object.hasOwn(ownFields, field) ? ownFields[field]?.(head) : fieldOf(head.metadata, field);

type HeadTest = (head: MemoryHead) => boolean;

function toHeadTest(field: string, condition: unknown): HeadTest {
  const test = toTest(field, condition);
  if (field !== timeField) return (head) => test(valueOf(head, field));
  const timeTest = toTest(field, toTimes(condition));
  return (head) => {
    const own = fieldOf(head.metadata, field);
    return own === undefined ? timeTest(timeOf(head)) : test(own);
  };
}

const timeField = 'timestamp';

/** The condition with each time in milliseconds. @throws Invalid for one that is compared and is no time. */
function toTimes(condition: unknown): unknown {
  if (!hasOperators(condition)) return toTime(condition, [timeField]);
  const operands = Object.entries(condition).map(([operator, operand]) => {
    const at = [timeField, operator];
    return [operator, Array.isArray(operand) ? operand.map((each) => toTime(each, at)) : toTime(operand, at)] as const;
  });
  return Object.fromEntries(operands);
}

const toTime = (given: unknown, at: readonly string[]): number | null => readTime(given, ['filters', ...at]) ?? null;

const operators: Readonly<Record<string, (operand: unknown) => Test | undefined>> = {
  $gt: ordered((order) => order > 0),
  $gte: ordered((order) => order >= 0),
  $lt: ordered((order) => order < 0),
  $lte: ordered((order) => order <= 0),
  $ne: (operand) => {
    const equals = equalTo(operand);
    return (value) => !equals(value);
  },
  $in: (operand) => {
    if (!Array.isArray(operand)) return undefined;
    // Texts, numbers and booleans are looked up in a set; arrays and objects are compared one by one.
    const plain = new Set(operand.filter(isScalar));
    const tests = operand.filter((each) => !isScalar(each)).map(equalTo);
    return (value) => plain.has(value as Scalar) || tests.some((test) => test(value));
  },
};

/** The part of a condition that an index of values can answer: equality with scalars. */
function toMatch(field: string, condition: unknown): MetadataMatch[] {
  if (Object.hasOwn(ownFields, field) || field === timeField) return [];
  if (isScalar(condition)) return [{ field, anyOf: [condition] }];
  const among = isObject(condition) ? fieldOf(condition, '$in') : undefined;
  return Array.isArray(among) && among.every(isScalar) ? [{ field, anyOf: among }] : [];
}

const isScalar = (value: unknown): value is Scalar =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';

const operandOf = (operator: string): string => (operator === '$in' ? 'an array' : 'a number or a string');

function toTest(field: string, condition: unknown): Test {
  if (field.startsWith('$')) throw invalid(['filters', field], 'is no name of a field: conditions do not nest');
  if (!hasOperators(condition)) {
    refuseNested(condition, ['filters', field]);
    return equalTo(condition);
  }
  const tests = Object.entries(condition).map(([operator, operand]) => toOperatorTest(field, operator, operand));
  return (value) => tests.every((test) => test(value));
}

function toOperatorTest(field: string, operator: string, operand: unknown): Test {
  const at = ['filters', field, operator];
  const make = Object.hasOwn(operators, operator) ? operators[operator] : undefined;
  if (!make) throw invalid(at, `must be one of ${Object.keys(operators).join(', ')}`, 'enum');
  refuseNested(operand, at);
  const test = make(operand);
  if (!test) throw invalid(at, `must be given ${operandOf(operator)}`);
  return test;
}

const isOperator = (key: string): boolean => key.startsWith('$');

const hasOperators = (condition: unknown): condition is Readonly<Record<string, unknown>> =>
  isObject(condition) && Object.keys(condition).some(isOperator);

/** Refuses an operator inside a value, which would otherwise be compared as a part of that value. */
function refuseNested(operand: unknown, at: readonly string[]): void {
  if (typeof operand !== 'object' || operand === null) return;
  for (const [key, value] of Object.entries(operand)) {
    if (isObject(operand) && isOperator(key)) throw invalid([...at, key], 'cannot stand here: conditions do not nest');
    refuseNested(value, at);
  }
}

/** Compares numbers with numbers and strings with strings; other values have no order. */
function ordered(holds: (order: number) => boolean): (operand: unknown) => Test | undefined {
  return (operand) => {
    if (typeof operand !== 'number' && typeof operand !== 'string') return undefined;
    return (value) => typeof value === typeof operand && holds(orderOf(value as typeof operand, operand));
  };
}

const orderOf = (a: number | string, b: number | string): number => (a > b ? 1 : a < b ? -1 : 0);

function equalTo(operand: unknown): Test {
  if (operand === null || typeof operand !== 'object') return (value) => value === operand;
  return (value) => isDeepStrictEqual(value, operand);
}
