import { multitaskStrategies } from '@agent-workflow/protos/lists';
import { sizes } from '@agent-workflow/kit/sizes';
import type { Static } from 'typebox';
import { Type } from '../../common/builders.ts';
import { Json, JsonObject, mostItems, paging, PathId, selectOf, texts, word } from './common.ts';

export const RunParams = Type.Object({ thread_id: PathId, run_id: PathId });

const nodes = Type.Optional(
  Type.Unsafe<string | readonly string[]>({
    type: ['string', 'array'],
    items: { type: 'string', minLength: 1, maxLength: 256 },
    maxItems: sizes.tools,
  }),
);

/** What a run has also where a schedule starts it. */
const scheduled = {
  input: Type.Optional(Json),
  config: Type.Optional(JsonObject),
  context: Type.Optional(JsonObject),
  metadata: Type.Optional(JsonObject),
  interrupt_before: nodes,
  interrupt_after: nodes,
  webhook: Type.Optional(Type.String({ maxLength: 2048 })),
  multitask_strategy: Type.Optional(word(multitaskStrategies)),
  checkpoint_during: Type.Optional(Type.Boolean()),
  durability: Type.Optional(word(['sync', 'async', 'exit'])),
  stream_mode: Type.Optional(Type.Unsafe<string | readonly string[]>({ type: ['string', 'array'] })),
  stream_subgraphs: Type.Optional(Type.Boolean()),
  stream_resumable: Type.Optional(Type.Boolean()),
};

const runFields = {
  assistant_id: Type.String({ minLength: 1, maxLength: 256 }),
  ...scheduled,
  command: Type.Optional(JsonObject),
  checkpoint: Type.Optional(JsonObject),
  checkpoint_id: Type.Optional(Type.String({ maxLength: 256 })),
  strict_resume: Type.Optional(Type.Boolean()),
  feedback_keys: Type.Optional(texts(32)),
  on_completion: Type.Optional(word(['delete', 'keep'])),
  on_disconnect: Type.Optional(word(['cancel', 'continue'])),
  after_seconds: Type.Optional(Type.Number({ minimum: 0, maximum: 315_360_000 })),
  if_not_exists: Type.Optional(word(['create', 'reject'])),
  langsmith_tracer: Type.Optional(JsonObject),
};

export const CreateRun = Type.Object(runFields);
export type RunInput = Static<typeof CreateRun>;

export const CreateRuns = Type.Object({ runs: Type.Array(CreateRun, { minItems: 1, maxItems: 100 }) });

export const runStatuses = ['pending', 'running', 'error', 'success', 'timeout', 'interrupted'] as const;

export const RunsQuery = Type.Object({
  limit: Type.Integer({ minimum: 1, maximum: mostItems, default: 10 }),
  offset: paging.offset,
  status: Type.Optional(word(runStatuses)),
  select: selectOf([
    ...(['run_id', 'thread_id', 'assistant_id', 'created_at', 'updated_at', 'status', 'metadata', 'kwargs'] as const),
    ...(['multitask_strategy', 'langsmith_session_name'] as const),
  ]),
});

const cancelAction = Type.Optional(word(['interrupt', 'rollback']));

export const CancelRun = Type.Object({
  wait: Type.Optional(word(['0', '1', 'true', 'false'])),
  action: cancelAction,
  reason: Type.Optional(Type.String({ maxLength: 1024 })),
});

export const CancelRuns = Type.Object({
  action: cancelAction,
  thread_id: Type.Optional(PathId),
  run_ids: Type.Optional(Type.Array(PathId, { maxItems: 100 })),
  status: Type.Optional(word(['pending', 'running', 'all'])),
});

const cancelOnDisconnect = Type.Optional(word(['0', '1', 'true', 'false']));

export const JoinQuery = Type.Object({ cancel_on_disconnect: cancelOnDisconnect });

export const StreamQuery = Type.Object({
  cancel_on_disconnect: cancelOnDisconnect,
  stream_mode: scheduled.stream_mode,
});

/** What a cron has beside the time of its runs. */
export const cronFields = { ...scheduled, assistant_id: runFields.assistant_id };
