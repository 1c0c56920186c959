import type { JsonObject } from './json.ts';
import type { RunRequest } from './runs.ts';

/** When a schedule starts runs: one of `cron`, `every_seconds` and `at`, and how. */
interface ScheduleFields {
  readonly name?: string;
  /** Five fields, or `@daily` and its like. */
  readonly cron?: string;
  /** The time zone of `cron`; `UTC` unless given. */
  readonly timezone?: string;
  readonly every_seconds?: number;
  readonly at?: string | number;
  readonly starts_at?: string | number;
  readonly ends_at?: string | number;
  readonly jitter_seconds?: number;
  /** `skip` unless given. */
  readonly overlap?: 'skip' | 'queue' | 'cancel_other' | 'allow';
  /** `one` unless given. */
  readonly catch_up?: 'none' | 'one' | 'all';
  readonly catch_up_seconds?: number;
  readonly thread?: 'one' | 'new';
  readonly keep_threads?: boolean;
  readonly metadata?: JsonObject;
}

export interface NewSchedule extends ScheduleFields {
  readonly paused?: boolean;
  /** What each run is started with. */
  readonly run: RunRequest;
}

export interface ScheduleChange extends ScheduleFields {
  readonly run?: RunRequest;
}

/** A schedule as lists show it. */
export interface ScheduleItem extends ScheduleFields {
  readonly schedule_id: string;
  readonly status: 'active' | 'paused' | 'disabled' | 'ended';
  readonly disabled_reason?: string;
  readonly run: JsonObject;
  readonly next_at?: string;
  /** How many slots are due and were not fired yet. */
  readonly pending: number;
  readonly version: number;
  readonly created_at: string;
  readonly updated_at: string;
}

/** What became of a slot. */
export interface PastSlot {
  readonly slot: string;
  readonly cause: 'slot' | 'manual' | 'backfill';
  readonly outcome: 'started' | 'skipped' | 'missed' | 'refused';
  readonly at: string;
  readonly run_id?: string;
  readonly thread_id?: string;
  readonly reason?: string;
}

export interface Schedule extends ScheduleItem {
  readonly next_times: readonly string[];
  readonly last_runs: readonly PastSlot[];
}

/** Slots that are fired within moments. */
export interface FiredSlots {
  readonly schedule_id: string;
  readonly runs: readonly { readonly slot: string; readonly run_id: string; readonly thread_id: string }[];
}
