import { checkpointSources } from '@agent-workflow/protos/lists';
import {
  BodyId,
  described,
  givenTime,
  Id,
  JsonObject,
  nullable,
  paged,
  paging,
  pathThreadId,
  objectOf,
  text,
  threadId,
  time,
  words,
} from './common.ts';
import { ThreadConfig, ThreadState } from './threads.ts';
import { tokens } from './usage.ts';
import { Type } from '../../common/builders.ts';

export const CheckpointParams = Type.Object({
  thread_id: pathThreadId,
  checkpoint_id: described(Id, 'The checkpoint'),
});

export const CheckpointsQuery = Type.Object({ ...paging });

const StepUsage = objectOf('StepUsage', 'The tokens that a step has taken, of all models together.', tokens);

export const Checkpoint = objectOf('Checkpoint', 'A version of a thread that can be read again and forked.', {
  checkpoint_id: text('The id of the checkpoint'),
  thread_id: threadId,
  source: words(checkpointSources, {
    description: 'What made this version',
    meanings: {
      input: 'the input of a run',
      step: 'a step of a run',
      update: 'a direct write of state or messages',
      fork: 'the thread was made from a checkpoint of another',
      rollback: 'a run was undone by `multitask_strategy: rollback`',
      restore: 'the thread was brought back to an earlier checkpoint, which `metadata.parent` names',
    },
  }),
  run_id: described(nullable(Type.String()), 'The run that made it; `null` where no run did'),
  step: described(nullable(Type.Integer()), 'The number of the step in its run, from 0; `null` where no step made it'),
  nodes: Type.Array(text('The name of a node'), { description: 'The nodes that ran in the step' }),
  next: Type.Array(text('The name of a node'), {
    description: 'The nodes that were to run next; empty at the end of a run',
  }),
  metadata: described(nullable(JsonObject), 'The `metadata` of the write that made it; `null` without one'),
  created_at: time('When it was made'),
  started_at: described(
    nullable(time('')),
    'When the nodes of the step began; `null` for another checkpoint, and where it is not known. ISO 8601, UTC',
  ),
  ended_at: described(
    nullable(time('')),
    'When the nodes of the step had ended; `null` for another checkpoint. ISO 8601, UTC',
  ),
  attempt: described(
    nullable(Type.Integer()),
    'Which attempt at the step was committed, from 1: it is attempted again when its worker is lost. `attempt` of an event counts something else; `null` as for `started_at`',
  ),
  retries: described(
    nullable(Type.Integer()),
    'How often nodes of the step began again after an error; `null` as for `started_at`, and when the run failed in the step',
  ),
  usage: described(nullable(StepUsage), 'The tokens of the step; `null` as for `started_at`'),
});

export const CheckpointList = objectOf('CheckpointList', 'A page of checkpoints.', {
  checkpoints: Type.Array(Checkpoint, { description: 'The checkpoints, newest first' }),
  ...paged,
});

export const OneCheckpoint = objectOf('OneCheckpoint', 'A checkpoint with the state at that point.', {
  checkpoint: described(Checkpoint, 'The checkpoint'),
  state: ThreadState.properties.state,
  context_truncated: ThreadState.properties.context_truncated,
});

/** The checkpoint that a new thread starts from; `config` names the new thread, as `config` of a run does. */
export const ForkThread = objectOf('ForkRequest', 'Where the new thread begins.', {
  checkpoint_id: Type.Optional(
    described(
      BodyId,
      'The checkpoint of the thread in the path from which the new thread begins; without it, its present version',
    ),
  ),
  config: Type.Optional(
    described(
      objectOf('ForkConfig', 'How the new thread is named. Further fields are ignored.', {
        thread_id: Type.Optional(
          described(
            BodyId,
            'May repeat the thread of the path; another one is 400. The service makes the id of the new thread.',
          ),
        ),
        thread_name: Type.Optional(
          Type.String({ maxLength: 1024, description: 'The name of the new thread; at most 1,024 characters' }),
        ),
        metadata: Type.Optional(described(JsonObject, 'The metadata of the new thread; at most 256 KiB')),
      }),
      'About the new thread',
    ),
  ),
});

/** The most checkpoints that a request names the newest of. */
const keptAtMost = 10_000;

export const PruneThread = objectOf('PruneRequest', 'Which checkpoints of the thread stay.', {
  keep: Type.Integer({
    minimum: 1,
    maximum: keptAtMost,
    default: 1,
    description: `So many of the newest checkpoints stay, the present one among them; 1 to ${keptAtMost.toLocaleString('en')}`,
  }),
  before: Type.Optional(givenTime('Only checkpoints made before this time go', 'all that `keep` leaves')),
});

export const RestoreThread = objectOf('RestoreRequest', 'Where the thread goes on.', {
  checkpoint_id: described(BodyId, 'The checkpoint of the thread in the path'),
  config: Type.Optional(described(ThreadConfig, 'Names the thread of the path again')),
});
