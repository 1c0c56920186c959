import type { StepTasks } from '@agent-workflow/protos/step-tasks';
import type { GrowingValues } from './growing-values.ts';
import type { StepPlace } from './step-place.ts';

/** A state from which a run began, and its checkpoint. */
export interface Beginning {
  readonly values: GrowingValues;
  readonly place: StepPlace | undefined;
  /** The tasks that come next, where that is known. */
  readonly tasks?: StepTasks | undefined;
  /** What stood before the input of the run; absent of one that goes on. */
  readonly input?: Beginning;
}
