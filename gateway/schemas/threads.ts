import { Type } from 'typebox';
import { BodyId, Id, Json, JsonObject, nullable, paged, paging, objectOf, Timestamp } from './common.ts';

export const ThreadParams = Type.Object({ thread_id: Id });

export const ThreadsQuery = Type.Object({ search: Type.Optional(Type.String()), ...paging });

/** The optional input of a deletion; it does not change what is deleted. */
export const DeleteInput = Type.Object({ config: Type.Optional(JsonObject), options: Type.Optional(JsonObject) });

/** `config` of the routes of one thread; further keys are allowed. */
const ThreadConfig = objectOf('ThreadConfig', { thread_id: Type.Optional(BodyId) });

export const UpdateState = objectOf('UpdateStateRequest', { config: ThreadConfig, state: JsonObject });

const threadFields = {
  thread_id: Type.String(),
  thread_name: nullable(Type.String()),
  user_id: nullable(Type.String()),
  metadata: nullable(JsonObject),
  created_at: nullable(Timestamp),
  updated_at: nullable(Timestamp),
  run_id: nullable(Type.String()),
};

const ThreadItem = objectOf('ThreadItem', threadFields);
export const ThreadList = objectOf('ThreadList', { threads: Type.Array(ThreadItem), ...paged });
export const ThreadDetails = objectOf('ThreadDetails', {
  ...threadFields,
  thread_data: Type.Object({ thread: ThreadItem }),
});
export const ThreadState = objectOf('ThreadState', {
  state: Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    properties: { context: { type: 'array' }, context_summary: { type: 'string' } },
    additionalProperties: Json,
  }),
  /** `true` when older messages of the context do not fit the reply. */
  context_truncated: Type.Optional(Type.Boolean()),
});
