import type { Checkpoint } from '@agent-workflow/client';

const sources: Readonly<Record<Checkpoint['source'], string>> = {
  input: 'Input',
  step: 'Step',
  update: 'Direct write',
  fork: 'Fork',
  rollback: 'Rollback',
  restore: 'Restored',
};

/** What made a version, as a list of them has it: the nodes of a step, else where it came from. A step of no node keeps what a stopped run had said. */
export function versionTitle(version: Checkpoint): string {
  if (version.source !== 'step') return versionName(version);
  return version.nodes.length > 0 ? version.nodes.join(', ') : 'Stopped answer';
}

/** What stands below it: the number of a step, and what was to run next. */
export const versionFacts = (version: Checkpoint): string => {
  const { next } = version;
  const name = versionName(version);
  const isNamed = versionTitle(version) === name;
  return [isNamed ? '' : name, next.length > 0 ? `next: ${next.join(', ')}` : ''].filter(Boolean).join(' · ');
};

/** What made a version: `Step 3`. */
export const versionName = ({ source, step }: Checkpoint): string =>
  step === null ? sources[source] : `${sources[source]} ${String(step)}`;

/** The version before `at` in a list whose newest is the first. */
export function versionBefore(versions: readonly Checkpoint[], at: string): string | undefined {
  const index = versions.findIndex(({ checkpoint_id: id }) => id === at);
  return index < 0 ? undefined : versions[index + 1]?.checkpoint_id;
}

/** Why versions go. */
export const keepingText =
  'The service keeps the newest 100 versions of a thread for a week, unless its operator has set CHECKPOINT_KEEP and CHECKPOINT_TTL otherwise.';
