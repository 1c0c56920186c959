import type { Checkpoint, Tokens } from '@agent-workflow/client';

/** What the record keeps of a step of a run. */
export interface RecordedStep {
  /** Counted from 0. */
  readonly step: number;
  /** Milliseconds since 1970; absent where the record does not say. */
  readonly startedAt?: number;
  /** When its nodes had ended, or when it was committed. */
  readonly endedAt: number;
  /** The attempt that was committed, from 1: others were lost with their workers. */
  readonly attempt?: number;
  /** How often its nodes began again after a failure. */
  readonly retries?: number;
  readonly tokens?: Tokens;
}

/** The steps of a run among the checkpoints of its thread, by their numbers. */
export function recordedSteps(checkpoints: readonly Checkpoint[], runId: string): ReadonlyMap<number, RecordedStep> {
  const steps = new Map<number, RecordedStep>();
  for (const checkpoint of checkpoints) {
    const { run_id: run, step, source } = checkpoint;
    if (run !== runId || source !== 'step' || step === null) continue;
    const startedAt = timeOf(checkpoint.started_at);
    const endedAt = timeOf(checkpoint.ended_at) ?? Date.parse(checkpoint.created_at);
    const { attempt, retries, usage } = checkpoint;
    steps.set(step, {
      ...{ step, endedAt },
      ...(startedAt !== undefined && { startedAt }),
      ...(typeof attempt === 'number' && { attempt }),
      ...(typeof retries === 'number' && { retries }),
      ...(usage && { tokens: usage }),
    });
  }
  return steps;
}

function timeOf(value: unknown): number | undefined {
  const at = typeof value === 'string' ? Date.parse(value) : NaN;
  return Number.isNaN(at) ? undefined : at;
}
