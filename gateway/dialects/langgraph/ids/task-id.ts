import { idFrom } from '@agent-workflow/kit/ids';

/** The id of the task of a node that comes next at a checkpoint: the same in every reply. */
export const taskIdOf = (threadId: string, checkpointId: string, node: string): string =>
  idFrom(`${threadId} ${checkpointId}`, node);
