import type { Message } from '@agent-workflow/protos/message';
import type { Resource } from '@agent-workflow/protos/threads';
import { threadOf, type Schedule } from '../../../schedules/schedule.ts';
import type { NewMessage, RunOrder } from '../../common/run-order.ts';
import { assistantIdOf } from '../ids/assistant-id.ts';
import { toLangChain } from '../messages/to-langchain.ts';
import { toConfig } from './assistant.ts';
import { fromKeptRequest } from './kept-request.ts';
import { nodeConfigOf } from './node-config.ts';
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
  const completed = threadId === null ? (keepThreads ? 'keep' : 'delete') : null;
  const body = bodyOfRuns(schedule);
  const { configurable } = body.config;
  const isEnabled = !paused && !disabled;
  return {
    cron_id: resource.id,
    assistant_id: assistantId,
    thread_id: threadId,
    user_id: user,
    end_time: endsAt === undefined ? null : shownTime(endsAt),
    schedule: cron,
    timezone,
    payload: {
      ...body,
      config: { ...body.config, configurable: { ...(configurable as JsonObject | undefined), cron_id: resource.id } },
      assistant_id: assistantId,
      schedule: cron,
      timezone,
      enabled: isEnabled,
      ...(completed !== null && { on_run_completed: completed }),
      ...(endsAt !== undefined && { end_time: shownTime(endsAt) }),
    },
    next_run_date: next === undefined ? null : shownTime(next),
    metadata,
    on_run_completed: completed,
    enabled: isEnabled,
    created_at: shownTime(resource.createdAt),
    updated_at: shownTime(resource.updatedAt),
  };
}

type Runs = Pick<Schedule, 'run' | 'terms'>;

/** What the request of a cron said of its runs. What the record does not have of it is read from the body of the runs. */
export function bodyOfRuns(runs: Runs): JsonObject & { readonly config: JsonObject } {
  const { run, terms } = runs;
  const kept = fromKeptRequest(terms?.keptRequest);
  const isMissing = (name: string): boolean => !kept || kept.leftOut?.includes(name) === true;
  const { url: webhook } = (run['webhook'] ?? {}) as { readonly url?: string };
  const { context, interrupt_before: before, interrupt_after: after } = run;
  const inRun = { input: inputOf(runs), context, interrupt_before: before, interrupt_after: after, webhook };
  const found = Object.entries(inRun).filter(([name, value]) => value !== undefined && isMissing(name));
  const config = kept && !isMissing('config') ? kept.config : nodeConfigOf(run['config'] as JsonObject | undefined);
  return { ...Object.fromEntries(found), ...kept?.body, config: toConfig(config) };
}

/** The input of the runs: read again, it is the same. */
function inputOf({ run, terms }: Runs): JsonObject {
  const { messages = [], initial_state: fields } = run as Pick<RunOrder, 'messages' | 'initial_state'>;
  const removed = (terms?.removes ?? []).map((id) => ({ type: 'remove', id }));
  const shown = [...removed, ...messages.flatMap((message) => toLangChain(wholeOf(message)))];
  return { ...(shown.length > 0 && { messages: shown }), ...fields };
}

const wholeOf = ({ content, ...message }: NewMessage): Message =>
  ({ ...message, content: typeof content === 'string' ? [{ type: 'text', text: content }] : content }) as Message;

/** The assistant whose runs a schedule starts. */
function assistantOf(run: Schedule['run'], byDefault: string): string {
  const { assistant_id: stored, agent } = (run['config'] ?? {}) as {
    readonly assistant_id?: unknown;
    readonly agent?: unknown;
  };
  if (typeof stored === 'string') return stored;
  return assistantIdOf(typeof agent === 'string' ? agent : byDefault);
}
