import type { Static } from 'typebox';
import { Type } from '../../common/builders.ts';
import { HistoryLength, Id, JsonObject } from './common.ts';

const tenant = Type.Optional(Id);

export const GetTask = Type.Object({ tenant, historyLength: Type.Optional(HistoryLength) });

export const CancelTask = Type.Object({ tenant, metadata: Type.Optional(JsonObject) });

export const SubscribeToTask = Type.Object({ tenant });

/** The states of a task, those included that no task has here. */
const states = [
  ...(['TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING', 'TASK_STATE_INPUT_REQUIRED', 'TASK_STATE_COMPLETED'] as const),
  ...(['TASK_STATE_FAILED', 'TASK_STATE_CANCELED', 'TASK_STATE_REJECTED', 'TASK_STATE_AUTH_REQUIRED'] as const),
  'TASK_STATE_UNSPECIFIED',
] as const;

export const ListTasks = Type.Object({
  tenant,
  contextId: Type.Optional(Id),
  status: Type.Optional(Type.Unsafe<(typeof states)[number]>({ enum: [...states] })),
  pageSize: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
  pageToken: Type.Optional(Type.String({ maxLength: 4096 })),
  historyLength: Type.Optional(HistoryLength),
  statusTimestampAfter: Type.Optional(Type.String({ maxLength: 64 })),
  /** A text in a query. */
  includeArtifacts: Type.Optional(Type.Unsafe<boolean | 'true' | 'false'>({ enum: [true, false, 'true', 'false'] })),
});
export type ListTasks = Static<typeof ListTasks>;
