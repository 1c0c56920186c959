import type { Checkpoint } from '@agent-workflow/client';

const sources: Readonly<Record<Checkpoint['source'], string>> = {
  input: 'Input',
  step: 'Step',
  update: 'Direct write',
  fork: 'Fork',
  rollback: 'Rollback',
  restore: 'Restored',
};

/** What made a version: `Step 3`. */
export const versionName = ({ source, step }: Checkpoint): string =>
  step === null ? sources[source] : `${sources[source]} ${String(step)}`;

/** The nodes that ran, and those that were to run next: `look → summarize`. */
export const nodesText = ({ nodes, next }: Checkpoint): string =>
  [nodes.join(', '), next.join(', ')].filter((names, at) => at === 0 || names !== '').join(' → ');

/** The version before `at` in a list whose newest is the first. */
export function versionBefore(versions: readonly Checkpoint[], at: string): string | undefined {
  const index = versions.findIndex(({ checkpoint_id: id }) => id === at);
  return index < 0 ? undefined : versions[index + 1]?.checkpoint_id;
}

/** Why versions go. */
export const keepingText =
  'The service keeps the newest 100 versions of a thread for a week, unless its operator has set CHECKPOINT_KEEP and CHECKPOINT_TTL otherwise.';
