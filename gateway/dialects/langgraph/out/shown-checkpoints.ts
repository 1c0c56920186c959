import type { ThreadCheckpoint } from '@agent-workflow/protos/threads';
import { jsonText } from '../../../http/json.ts';
import type { TaskPlace } from '../ids/task-id.ts';

/**
 * A checkpoint as LangGraph's clients see it. Where the record has one of a run's input and one of each step, they have one before the input, one
 * behind it, and one behind each step.
 */
export interface ShownCheckpoint extends ThreadCheckpoint {
  /** The checkpoint that it was made of; absent of the first that is known. */
  readonly before: string | undefined;
  /** Whether the first nodes of its run come next, which the record does not name yet. */
  readonly isBegun?: boolean;
  /** The step of a run in which the nodes run that come next; absent of what no run has made. */
  readonly comes?: TaskPlace;
}

/** In the name of what stood before a checkpoint: the record reads it. */
const beforeMark = '-before';

/** The first node of every graph there, which takes the input. */
export const startNode = '__start__';

/** The checkpoint whose input is named, where an id names what stood before one. */
export const inputOf = (id: string): string | undefined =>
  id.endsWith(beforeMark) ? id.slice(0, -beforeMark.length) : undefined;

/** Whether a run begins at a checkpoint: its input stands there, and none of its nodes has run. */
const beginsAt = ({ source, next }: Pick<ThreadCheckpoint, 'source' | 'next'>): boolean =>
  source === 'input' && next.length === 0;

/** Whether a checkpoint has the fields of the input of its run, and names the nodes that come first. */
export const hasFields = ({ source, step }: Pick<ThreadCheckpoint, 'source' | 'step'>): boolean =>
  source === 'input' && step !== undefined;

/**
 * The checkpoints of the record, the newest first, as their clients see them.
 * - The input of a run makes two, of which the second has its fields where these were on record before its first nodes. That of a run which goes on makes none, as nothing is begun.
 * - What a run wrote without a node belongs to the checkpoint before it: its failure, the partial output of one that was stopped, a stop before
 *   its first nodes.
 * - Where the thread was brought back before an input or an update, that is made of the checkpoint to which it was brought back.
 */
export function shownCheckpoints(checkpoints: readonly ThreadCheckpoint[]): readonly ShownCheckpoint[] {
  const shown: ShownCheckpoint[] = [];
  const names = new Map<string, string>();
  for (const checkpoint of checkpoints.toReversed()) {
    const { checkpointId: id, source, next, nodes } = checkpoint;
    const last = shown.at(-1);
    if (last?.isBegun === true && hasFields(checkpoint)) {
      names.set(last.checkpointId, id);
      shown[shown.length - 1] = withNext({ ...last, checkpointId: id, createdAt: checkpoint.createdAt }, next);
      continue;
    }
    if (last && source === 'input' && next.length > 0) {
      if (last.isBegun === true) shown[shown.length - 1] = withNext(last, next);
      continue;
    }
    if (last && source === 'step' && nodes.length === 0) {
      names.set(last.checkpointId, id);
      const merged = { ...last, checkpointId: id, createdAt: checkpoint.createdAt, ...comesIn(checkpoint) };
      shown[shown.length - 1] = next.length > 0 ? withNext(merged, next) : merged;
      continue;
    }
    if (last?.isBegun === true && source === 'step') shown[shown.length - 1] = withNext(last, nodes);
    const isOfRestore = last?.source === 'restore' && (source === 'input' || source === 'update');
    if (isOfRestore) shown.pop();
    const before = isOfRestore ? last.before : (nameOf(names, origin(checkpoint)) ?? last?.checkpointId);
    if (beginsAt(checkpoint)) shown.push(...ofInput(checkpoint, before));
    else if (source !== 'step') shown.push({ ...checkpoint, before });
    else shown.push({ ...checkpoint, before, step: (checkpoint.step ?? -1) + 1, ...comesIn(checkpoint) });
  }
  return shown.toReversed();
}

const withNext = ({ isBegun: _, ...checkpoint }: ShownCheckpoint, next: readonly string[]): ShownCheckpoint => ({
  ...checkpoint,
  next,
});

/** The step of a run that stands behind a checkpoint of it. What was written without a node has not ended the step that was under way. */
export const comesIn = (
  { runId, source, nodes, step = -1 }: ThreadCheckpoint,
  at = source === 'step' && nodes.length === 0 ? step : step + 1,
): Pick<ShownCheckpoint, 'comes'> => (runId === undefined ? {} : { comes: { of: runId, at } });

/** What stood before the input of a run, and what stands behind it. */
function ofInput(checkpoint: ThreadCheckpoint, before: string | undefined): readonly ShownCheckpoint[] {
  const { checkpointId: id } = checkpoint;
  const input = `${id}${beforeMark}`;
  return [
    { ...checkpoint, checkpointId: input, step: -1, next: [startNode], before, ...comesIn(checkpoint, -1) },
    { ...checkpoint, source: 'step', step: 0, before: input, isBegun: true, ...comesIn(checkpoint) },
  ];
}

/** The name by which a checkpoint is shown now, when more was written to it. */
function nameOf(names: ReadonlyMap<string, string>, id: string | undefined): string | undefined {
  let name = id;
  for (let next = name; next !== undefined; next = names.get(next)) name = next;
  return name;
}

/** The checkpoint from which another was made by going back. */
function origin({ metadataJson, source }: ThreadCheckpoint): string | undefined {
  if (source !== 'restore' || !metadataJson) return undefined;
  const { parent } = JSON.parse(jsonText(metadataJson)) as { readonly parent?: { readonly checkpoint_id?: unknown } };
  return typeof parent?.checkpoint_id === 'string' ? parent.checkpoint_id : undefined;
}
