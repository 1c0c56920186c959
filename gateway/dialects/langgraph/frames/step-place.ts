import type { StepTasks } from '@agent-workflow/protos/step-tasks';

/** Where a step stands in the record. */
export interface StepPlace {
  readonly checkpointId: string;
  readonly before: string | undefined;
  readonly next: readonly string[];
  /** The tasks that come next, where that is known. */
  readonly tasks?: StepTasks | undefined;
  /** How the checkpoint is numbered and called in the history. */
  readonly step: number;
  readonly source: string;
}
