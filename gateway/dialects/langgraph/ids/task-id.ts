import { idFrom } from '@agent-workflow/kit/ids';

/** Where a task stands: in a step of a run; of a checkpoint that no run has made, at that in its thread. */
export interface TaskPlace {
  readonly of: string;
  readonly at: string | number;
}

/** The id of the task of a node: the same in every stream and every reply. `index` is its place among the tasks of its node. */
export const taskIdOf = ({ of, at }: TaskPlace, node: string, index = 0): string =>
  idFrom(`${of} ${String(at)}`, index === 0 ? node : `${node} ${String(index)}`);
