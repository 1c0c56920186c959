import { follows } from '@agent-workflow/execution/ports/log-numbers';

/** Whether numbers are those of one log from its first event on: each one more than the last. */
export const areWhole = (numbers: readonly number[]): boolean =>
  numbers.every((number, index) => follows(numbers[index - 1] ?? 0, number));
