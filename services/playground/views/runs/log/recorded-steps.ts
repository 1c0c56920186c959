import type { Checkpoint } from '@agent-workflow/client';

/** What the record keeps of a step of a run. */
export interface RecordedStep {
  /** Counted from 0. */
  readonly step: number;
  /** Milliseconds since 1970; absent where the record does not say. */
  readonly startedAt?: number;
  /** When it was committed. */
  readonly endedAt: number;
}

/** The steps of a run among the checkpoints of its thread, by their numbers. */
export function recordedSteps(checkpoints: readonly Checkpoint[], runId: string): ReadonlyMap<number, RecordedStep> {
  const steps = new Map<number, RecordedStep>();
  for (const checkpoint of checkpoints) {
    const { run_id: run, step, source } = checkpoint;
    if (run !== runId || source !== 'step' || step === null) continue;
    const startedAt = timeOf(checkpoint['started_at']);
    const endedAt = timeOf(checkpoint['ended_at']) ?? Date.parse(checkpoint.created_at);
    steps.set(step - 1, { step: step - 1, endedAt, ...(startedAt !== undefined && { startedAt }) });
  }
  return steps;
}

function timeOf(value: unknown): number | undefined {
  const at = typeof value === 'string' ? Date.parse(value) : NaN;
  return Number.isNaN(at) ? undefined : at;
}
