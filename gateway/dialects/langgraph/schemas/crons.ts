import { Type } from '../../common/builders.ts';
import { JsonObject, paging, PathId, selectOf, sortOrder, word } from './common.ts';
import { cronFields } from './runs.ts';

/** A cron is a schedule of the service. */
export const CronParams = Type.Object({ schedule_id: PathId });

const times = {
  timezone: Type.Optional(Type.String({ maxLength: 64 })),
  enabled: Type.Optional(Type.Boolean()),
  on_run_completed: Type.Optional(word(['delete', 'keep'])),
};

export const CreateCron = Type.Object({
  ...cronFields,
  ...times,
  end_time: Type.Optional(Type.String({ maxLength: 64 })),
  schedule: Type.String({ minLength: 1, maxLength: 256 }),
});

export const UpdateCron = Type.Object({
  ...cronFields,
  ...times,
  // `null` ends a limit that was set, so it is not taken for the absence of the field.
  end_time: Type.Optional(Type.Unsafe<string | null>({ type: ['string', 'null'], maxLength: 64 })),
  assistant_id: Type.Optional(cronFields.assistant_id),
  schedule: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
});

const filter = {
  assistant_id: Type.Optional(Type.String({ maxLength: 256 })),
  thread_id: Type.Optional(PathId),
  enabled: Type.Optional(Type.Boolean()),
  metadata: Type.Optional(JsonObject),
};
export const CountCrons = Type.Object(filter);
export const SearchCrons = Type.Object({
  ...filter,
  ...paging,
  sort_by: Type.Optional(
    word(['cron_id', 'assistant_id', 'thread_id', 'next_run_date', 'end_time', 'created_at', 'updated_at']),
  ),
  sort_order: sortOrder,
  select: selectOf([
    ...(['cron_id', 'assistant_id', 'thread_id', 'on_run_completed', 'end_time', 'schedule', 'timezone'] as const),
    ...(['created_at', 'updated_at', 'user_id', 'payload', 'next_run_date', 'metadata', 'enabled'] as const),
  ]),
});
