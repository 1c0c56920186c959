import type { Message, Step } from '@agent-workflow/client';
import type { Path } from '../../../ui/path-text.ts';

/** A state that is on record, and the text that it came in. */
export interface PastFields {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly isTruncated: boolean;
  /** The reply as it was written, and where the state stands in it. */
  readonly text: string | undefined;
  readonly at: Path;
}

/** What is on record of a step of a run. */
export interface StepRecord {
  /** Absent for a step that was not committed, or is no longer kept. */
  readonly step?: Step;
  readonly after?: PastFields;
  readonly before?: PastFields;
  /** The checkpoint before the step, from which a fork goes on as the step did. */
  readonly beforeId?: string;
}

/** The messages that a state holds, the oldest first. */
export const contextOf = (past: PastFields | undefined): readonly Message[] => {
  const context = past?.fields['context'];
  return Array.isArray(context) ? (context as readonly Message[]) : [];
};
