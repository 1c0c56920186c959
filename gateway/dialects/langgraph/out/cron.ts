import type { Resource } from '@agent-workflow/protos/threads';
import { threadOf, type Schedule } from '../../../schedules/schedule.ts';
import { assistantIdOf } from '../ids/assistant-id.ts';
import { shownTime } from './shown-time.ts';

type JsonObject = Readonly<Record<string, unknown>>;

/** A schedule and its place in the record. */
interface StoredCron {
  readonly resource: Pick<Resource, 'id' | 'createdAt' | 'updatedAt'>;
  readonly schedule: Schedule;
}

/** A cron as LangGraph's clients read it. `user` is its owner's id; `byDefault` the agent of one that names none. */
export function toCron({ resource, schedule }: StoredCron, user: string, byDefault: string): JsonObject {
  const { spec, run, next, paused, disabled } = schedule;
  const { timing, endsAt, metadata = {}, keepThreads } = spec;
  const threadId = threadOf(run) ?? null;
  const [cron, timezone] = 'cron' in timing ? [timing.cron, timing.timezone] : [null, null];
  const assistantId = assistantOf(run, byDefault);
  return {
    cron_id: resource.id,
    assistant_id: assistantId,
    thread_id: threadId,
    user_id: user,
    end_time: endsAt === undefined ? null : shownTime(endsAt),
    schedule: cron,
    timezone,
    payload: {
      assistant_id: assistantId,
      schedule: cron,
      timezone,
      enabled: !paused && !disabled,
      on_run_completed: threadId === null ? (keepThreads ? 'keep' : 'delete') : null,
      input: { messages: run['messages'] ?? [], ...(run['initial_state'] as JsonObject | undefined) },
      config: { configurable: { cron_id: resource.id } },
    },
    next_run_date: next === undefined ? null : shownTime(next),
    metadata,
    on_run_completed: threadId === null ? (keepThreads ? 'keep' : 'delete') : null,
    enabled: !paused && !disabled,
    created_at: shownTime(resource.createdAt),
    updated_at: shownTime(resource.updatedAt),
  };
}

/** The assistant whose runs a schedule starts. */
function assistantOf(run: Schedule['run'], byDefault: string): string {
  const { assistant_id: stored, agent } = (run['config'] ?? {}) as {
    readonly assistant_id?: unknown;
    readonly agent?: unknown;
  };
  if (typeof stored === 'string') return stored;
  return assistantIdOf(typeof agent === 'string' ? agent : byDefault);
}
