import { readTime } from '@agent-workflow/protos/message';
import { invalidAt } from '../../../http/fields.ts';
import type { ScheduleSpec } from '../../../schedules/schedule.ts';
import { faultOfCron, slotAfter } from '../../../schedules/slots.ts';
import { zoneOf } from '../../../schedules/zone.ts';
import { refusalWith } from '../replies/refusal.ts';

type JsonObject = Readonly<Record<string, unknown>>;

/** When the runs of a cron begin, and what becomes of their threads. */
interface CronInput {
  readonly schedule?: string;
  readonly timezone?: string;
  readonly end_time?: string;
  readonly on_run_completed?: 'delete' | 'keep';
  readonly metadata?: JsonObject;
}

/** What is known of a cron that a request changes. */
interface Before {
  readonly spec?: ScheduleSpec;
  /** Whether its runs have one thread. */
  readonly hasThread: boolean;
  readonly now: number;
}

/** A cron as a schedule. @throws Invalid for a time that never comes, or that cannot be read */
export function toScheduleSpec(input: CronInput, { spec, hasThread, now }: Before): ScheduleSpec {
  const timing = spec && 'cron' in spec.timing ? spec.timing : undefined;
  const cron = input.schedule ?? timing?.cron ?? '';
  const timezone = input.timezone ?? timing?.timezone ?? 'UTC';
  const fault = faultOfCron(cron);
  if (fault !== undefined) throw refusalWith('Invalid', `Invalid cron schedule: '${cron}'. Reason: ${fault}`);
  if (!zoneOf(timezone)) throw invalidAt(['body', 'timezone'], 'must be the name of a time zone, as Europe/Berlin');
  const endsAt = readTime(input.end_time, ['body', 'end_time']) ?? spec?.endsAt;
  const bounds = endsAt === undefined ? {} : { endsAt: Math.floor(endsAt) };
  const times = { cron, timezone };
  const isTimed = input.schedule !== undefined || input.timezone !== undefined || input.end_time !== undefined;
  if (isTimed && slotAfter(times, bounds, now) === undefined)
    throw invalidAt(['body', 'end_time'], 'must leave a time that is to come');
  const metadata = input.metadata ?? spec?.metadata;
  const keeps = input.on_run_completed === undefined ? spec?.keepThreads : input.on_run_completed === 'keep';
  return {
    timing: times,
    ...bounds,
    ...(metadata && { metadata }),
    ...{ jitterMs: 0, catchUp: 'none', catchUpMs: 3_600_000 },
    overlap: hasThread ? 'queue' : 'allow',
    thread: hasThread ? 'one' : 'new',
    keepThreads: hasThread || (keeps ?? false),
  };
}
