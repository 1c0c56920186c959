import type { Interrupt } from '@agent-workflow/client';

/** Whether all of these questions are for others to answer. */
export const areForOthers = (questions: readonly Pick<Interrupt, 'to'>[]): boolean =>
  questions.length > 0 && questions.every(({ to }) => to !== undefined);
