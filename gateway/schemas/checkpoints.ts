import { checkpointSources } from '@agent-workflow/protos/lists';
import { Type } from 'typebox';
import { BodyId, Id, JsonObject, nullable, paged, paging, objectOf, Timestamp, words } from './common.ts';
import { ThreadState } from './threads.ts';

export const CheckpointParams = Type.Object({ thread_id: Id, checkpoint_id: Id });

export const CheckpointsQuery = Type.Object({ ...paging });

const Checkpoint = objectOf('Checkpoint', {
  checkpoint_id: Type.String(),
  thread_id: Type.String(),
  source: words(checkpointSources),
  run_id: nullable(Type.String()),
  step: nullable(Type.Integer()),
  nodes: Type.Array(Type.String()),
  next: Type.Array(Type.String()),
  metadata: nullable(JsonObject),
  created_at: Timestamp,
});

export const CheckpointList = objectOf('CheckpointList', {
  checkpoints: Type.Array(Checkpoint),
  ...paged,
});

export const OneCheckpoint = objectOf('OneCheckpoint', {
  checkpoint: Checkpoint,
  state: ThreadState.properties.state,
  context_truncated: ThreadState.properties.context_truncated,
});

/** The checkpoint that a new thread starts from; `config` names the new thread, as `config` of a run does. */
export const ForkThread = objectOf('ForkRequest', {
  checkpoint_id: BodyId,
  config: Type.Optional(
    objectOf('ForkConfig', {
      thread_id: Type.Optional(BodyId),
      thread_name: Type.Optional(Type.String({ maxLength: 1024 })),
      metadata: Type.Optional(JsonObject),
    }),
  ),
});
