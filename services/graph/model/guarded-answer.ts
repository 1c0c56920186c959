import type { AnswerPart } from './model.ts';
import { modelFailure, type ModelFault, type SettingNames } from './model-failure.ts';

interface Guard {
  /** Ends the answer. */
  readonly signal: AbortSignal;
  /** How long the answer may take from the question to its last word. */
  readonly timeoutMs: number;
  /** Says what an error of the API means. */
  readonly toFault: (error: unknown) => ModelFault;
  readonly names?: Partial<SettingNames> | undefined;
}

/**
 * Gives the parts of an answer until the signal fires or the time is over. `read` gets a signal that fires at both.
 * @throws the signal's reason; for any other error a {@link modelFailure}.
 */
export async function* guardAnswer(
  { signal, timeoutMs, toFault, names }: Guard,
  read: (signal: AbortSignal) => AsyncIterable<AnswerPart>,
): AsyncGenerator<AnswerPart> {
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    yield* read(AbortSignal.any([signal, timeout]));
  } catch (error) {
    signal.throwIfAborted();
    throw modelFailure(timeout.aborted ? { kind: 'late' } : toFault(error), names);
  }
}
