import { readTime } from '@agent-workflow/protos/message';
import { invalidAt } from '../../../http/fields.ts';
import { threadOf, type Schedule, type ScheduleSpec } from '../../../schedules/schedule.ts';
import { faultOfCron, slotAfter } from '../../../schedules/slots.ts';
import { zoneOf } from '../../../schedules/zone.ts';
import { refusalWith } from '../replies/refusal.ts';

type JsonObject = Readonly<Record<string, unknown>>;

/** When the runs of a cron begin, and what becomes of their threads. */
interface CronInput {
  readonly schedule?: string;
  readonly timezone?: string;
  /** `null`: no end. */
  readonly end_time?: string | null;
  readonly on_run_completed?: 'delete' | 'keep';
  readonly metadata?: JsonObject;
}

/** What is known of a cron beside what a request says of it. */
interface Known {
  /** Absent: it is new. */
  readonly spec?: ScheduleSpec;
  readonly run: Schedule['run'];
  readonly now: number;
}

/** A cron as a schedule. @throws Invalid for a time that never comes, or that cannot be read */
export function toScheduleSpec(input: CronInput, { spec, run, now }: Known): ScheduleSpec {
  const timing = spec && 'cron' in spec.timing ? spec.timing : undefined;
  const cron = input.schedule ?? timing?.cron ?? '';
  const timezone = input.timezone ?? timing?.timezone ?? 'UTC';
  const fault = faultOfCron(cron);
  if (fault !== undefined) throw refusalWith('Invalid', `Invalid cron schedule: '${cron}'. Reason: ${fault}`);
  if (!zoneOf(timezone)) throw invalidAt(['body', 'timezone'], 'must be the name of a time zone, as Europe/Berlin');
  const times = { cron, timezone };
  const bounds = boundsOf(input, spec);
  const isTimed = input.schedule !== undefined || input.timezone !== undefined || typeof input.end_time === 'string';
  if (isTimed && slotAfter(times, bounds, now) === undefined) throw neverComes(times, now);
  const metadata = mergedMetadata(input.metadata, spec?.metadata);
  const keeps = input.on_run_completed === undefined ? spec?.keepThreads : input.on_run_completed === 'keep';
  const hasThread = threadOf(run) !== undefined;
  return {
    timing: times,
    ...bounds,
    ...(metadata && { metadata }),
    ...{ jitterMs: 0, catchUp: 'none', catchUpMs: 3_600_000 },
    overlap: hasThread && isQueued(run) ? 'queue' : 'allow',
    thread: hasThread ? 'one' : 'new',
    keepThreads: hasThread || (keeps ?? false),
  };
}

/** The metadata of a cron after a change, which is merged into it. */
export const mergedMetadata = (
  given: JsonObject | undefined,
  before: JsonObject | undefined,
): JsonObject | undefined => (given ? { ...before, ...given } : before);

function boundsOf({ end_time: end }: CronInput, spec: ScheduleSpec | undefined): Pick<ScheduleSpec, 'endsAt'> {
  if (end === null) return {};
  const endsAt = readTime(end, ['body', 'end_time']) ?? spec?.endsAt;
  return endsAt === undefined ? {} : { endsAt: Math.floor(endsAt) };
}

function neverComes(times: { readonly cron: string; readonly timezone: string }, now: number): Error {
  if (slotAfter(times, {}, now) === undefined) return invalidAt(['body', 'schedule'], 'must name a time that comes');
  return invalidAt(['body', 'end_time'], 'must leave a time that is to come');
}

/** Whether each run waits for the one before it. Others are started at their time, and their strategy says what becomes of that one. */
function isQueued({ config }: Schedule['run']): boolean {
  const { multitask_strategy: strategy = 'enqueue' } = (config ?? {}) as { readonly multitask_strategy?: string };
  return strategy === 'enqueue';
}
