import { idFrom } from '@agent-workflow/kit/ids';

/** The id of the task of a node that comes next at a checkpoint: the same in every reply. `index` is its place among the tasks of its node. */
export const taskIdOf = (threadId: string, checkpointId: string, node: string, index = 0): string =>
  idFrom(`${threadId} ${checkpointId}`, index === 0 ? node : `${node} ${String(index)}`);
