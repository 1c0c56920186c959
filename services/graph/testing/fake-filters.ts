import type { MemoryFound } from '../build/context.ts';

type Test = (value: unknown, operand: unknown) => boolean;

/** Both are JSON. */
const isSame = (value: unknown, other: unknown): boolean => JSON.stringify(value) === JSON.stringify(other);

const ordered =
  (holds: (order: number) => boolean): Test =>
  (value, operand) =>
    (typeof value === 'number' || typeof value === 'string') &&
    typeof value === typeof operand &&
    holds(value > (operand as typeof value) ? 1 : value < (operand as typeof value) ? -1 : 0);

const tests: Readonly<Record<string, Test>> = {
  $gt: ordered((order) => order > 0),
  $gte: ordered((order) => order >= 0),
  $lt: ordered((order) => order < 0),
  $lte: ordered((order) => order <= 0),
  $ne: (value, operand) => !isSame(value, operand),
  $in: (value, operand) => Array.isArray(operand) && operand.some((each) => isSame(value, each)),
};

/** Whether a memory meets the filters: equality, or operators that all hold. @throws TypeError for an operator that there is not. */
export const passesFilters = (
  filters: Readonly<Record<string, unknown>>,
  memory: Omit<MemoryFound, 'score'>,
): boolean => Object.entries(filters).every(([field, condition]) => passes(valueOf(memory, field), condition));

function valueOf({ metadata, memoryType, category, timestamp }: Omit<MemoryFound, 'score'>, field: string): unknown {
  if (Object.hasOwn(metadata, field)) return metadata[field];
  return { memory_type: memoryType, category, timestamp }[field];
}

function passes(value: unknown, condition: unknown): boolean {
  const isOperators = typeof condition === 'object' && condition !== null && !Array.isArray(condition);
  if (!isOperators || !Object.keys(condition).some((name) => name.startsWith('$'))) return isSame(value, condition);
  return Object.entries(condition).every(([name, operand]) => {
    const test = Object.hasOwn(tests, name) ? tests[name] : undefined;
    if (!test) throw new TypeError(`a filter must be one of ${Object.keys(tests).join(', ')}, not ${name}`);
    return test(value, operand);
  });
}
