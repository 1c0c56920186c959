import { Checkpoint } from './checkpoints.ts';
import { count, described, flag, Id, JsonObject, nullable, objectOf, runId, text, threadId, time } from './common.ts';
import { Message } from './messages.ts';
import { ThreadState } from './threads.ts';
import { Type } from '../../common/builders.ts';

const { nodes, next, attempt, retries, usage } = Checkpoint.properties;

const Step = objectOf('Step', 'A step of a run that is on record, and what it changed.', {
  step: count('Its number in the run, from 0; `metadata.step` of the events of the run'),
  checkpoint_id: text('The checkpoint that it made'),
  nodes,
  next,
  changed: described(JsonObject, 'The fields of the state that it changed, with their values after it'),
  messages: Type.Array(Message, { description: 'The messages that it added or replaced' }),
  removed: Type.Array(text('The id of a message'), { description: 'The messages that left the context' }),
  started_at: described(nullable(time('')), 'When its nodes began; `null` where it is not known. ISO 8601, UTC'),
  ended_at: time('When its nodes had ended'),
  attempt,
  retries,
  usage,
});

export const StepParams = Type.Object({
  run_id: described(Id, 'The run'),
  step: described(Id, 'The number of the step, from 0'),
});

/** Steps of one reply. */
const mostSteps = 32;

export const StepsQuery = Type.Object({
  limit: Type.Integer({
    minimum: 1,
    default: mostSteps,
    description: `The most steps of the reply; above ${String(mostSteps)} it counts as ${String(mostSteps)}. A reply also ends at 4 MiB.`,
  }),
  after: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER - 1,
      description: 'The number of the last step that was seen. Default: from the first that is kept',
    }),
  ),
});

export const StepList = objectOf('StepList', 'Steps of a run.', {
  run_id: runId,
  thread_id: threadId,
  steps: Type.Array(Step, { description: 'The steps in their order' }),
  has_more: flag(
    'Whether there may be more: continue with `after`, the number of the last step. `false`: there are no more for now',
  ),
});

export const OneStep = objectOf('OneStep', 'A step of a run with the state after it.', {
  step: described(Step, 'The step'),
  state: ThreadState.properties.state,
  context_truncated: ThreadState.properties.context_truncated,
});
