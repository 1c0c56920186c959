import { notFound } from '@agent-workflow/kit/errors';
import type { Log } from '@agent-workflow/kit/log';
import { shapeOf } from '../record/agent-shape.ts';
import type { Agents } from '../record/agents.ts';
import type { Reduce } from '../ports/code-calls.ts';
import { reduceFields } from './update-state.ts';

interface ReduceOptions {
  readonly agents: Pick<Agents, 'list'>;
  /** Called before each call of the agent's code. */
  readonly onCode: () => void;
  readonly log: Log;
}

/** Answers calls for the reducers of the agents that are held here. The log has what a reducer threw, the caller only its message. */
export function createReduce({ agents, onCode, log }: ReduceOptions): Reduce {
  const shapes = new Map(agents.list.map((agent) => [agent.name, shapeOf(agent)]));
  return async ({ agent, current, given }, signal) => {
    signal.throwIfAborted();
    const shape = shapes.get(agent);
    if (!shape) throw notFound(`there is no agent named "${agent}"`);
    onCode();
    try {
      return reduceFields(shape, { version: 0, fields: current, contextJson: noContext }, given);
    } catch (error) {
      log.warn({ err: error, agent }, "a caller's update of the state was refused by the code of the agent");
      throw error;
    }
  };
}

const noContext = Buffer.from('[]');
