import type { NewSchedule, ScheduleChange, ScheduleItem } from '@agent-workflow/client';
import { agentOf, firstText, msOf } from './schedule-text.ts';

/** What stands in the form of a schedule. */
export interface ScheduleDraft {
  readonly name: string;
  /** By which of the three its times are given. */
  readonly kind: 'cron' | 'every' | 'once';
  readonly cron: string;
  readonly timezone: string;
  /** A number of `unit`. */
  readonly every: string;
  /** How many seconds one has. */
  readonly unit: '1' | '60' | '3600' | '86400';
  /** As the box for a local time has it: `2026-11-28T08:30`. */
  readonly at: string;
  readonly message: string;
  /** Empty: the default agent. */
  readonly agent: string;
  readonly overlap: NonNullable<ScheduleItem['overlap']>;
  readonly catchUp: NonNullable<ScheduleItem['catch_up']>;
  readonly thread: NonNullable<ScheduleItem['thread']>;
}

/** The form of a new schedule in the time zone of the reader. */
export const newDraft = (timezone: string): ScheduleDraft => ({
  ...{ name: '', kind: 'cron', cron: '0 9 * * MON-FRI', timezone, every: '1', unit: '3600', at: '' },
  ...{ message: '', agent: '', overlap: 'skip', catchUp: 'one', thread: 'new' },
});

const units = ['86400', '3600', '60', '1'] as const;

/** The form of a schedule that is there. */
export function draftOf(schedule: ScheduleItem, timezone: string): ScheduleDraft {
  const { name = '', cron, every_seconds: every, at, overlap = 'skip', catch_up: catchUp = 'one' } = schedule;
  const unit = units.find((size) => every !== undefined && every % Number(size) === 0) ?? '1';
  return {
    ...newDraft(schedule.timezone ?? (cron === undefined ? timezone : 'UTC')),
    ...{ name, overlap, catchUp, thread: schedule.thread ?? 'new' },
    ...{ message: firstText(schedule.run), agent: agentOf(schedule.run) ?? '' },
    ...(cron !== undefined && { kind: 'cron', cron }),
    ...(every !== undefined && { kind: 'every', every: String(every / Number(unit)), unit }),
    ...(at !== undefined && { kind: 'once', at: localText(msOf(at)) }),
  };
}

/** A time as a box for a local one has it, to the minute. */
function localText(ms: number): string {
  const at = new Date(ms);
  return new Date(ms - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** The request that makes the schedule of a form. The service judges what it holds. */
export const toNewSchedule = (draft: ScheduleDraft): NewSchedule => ({ ...fieldsOf(draft), run: runOf(draft) });

/** The request that changes a schedule to what the form holds. Its run stays as it is, unless its message or its agent was changed. */
export function toChange(draft: ScheduleDraft, before: ScheduleItem): ScheduleChange {
  const isSameRun = draft.message === firstText(before.run) && draft.agent === (agentOf(before.run) ?? '');
  return { ...fieldsOf(draft), ...keptBounds(before), ...(!isSameRun && { run: runOf(draft) }) };
}

/** A change of the times replaces their bounds: those that the form does not show are sent along. */
const keptBounds = ({ starts_at: from, ends_at: to }: ScheduleItem): ScheduleChange => ({
  ...(from !== undefined && { starts_at: from }),
  ...(to !== undefined && { ends_at: to }),
});

function fieldsOf({ name, overlap, catchUp, thread, ...draft }: ScheduleDraft): ScheduleChange {
  return {
    ...(name.trim() && { name: name.trim() }),
    ...{ overlap, catch_up: catchUp, thread },
    ...(draft.kind === 'cron' && { cron: draft.cron.trim(), timezone: draft.timezone.trim() }),
    ...(draft.kind === 'every' && { every_seconds: Number(draft.every) * Number(draft.unit) }),
    ...(draft.kind === 'once' && { at: isoOf(draft.at) }),
  };
}

const runOf = ({ message, agent }: ScheduleDraft): NewSchedule['run'] => ({
  messages: [{ role: 'user', content: message }],
  ...(agent !== '' && { config: { agent } }),
});

/** A local time as the service takes it; what is no time stays as it is, and the service says so. */
function isoOf(local: string): string {
  const at = new Date(local);
  return Number.isNaN(at.getTime()) ? local : at.toISOString();
}
