import { createHash } from 'node:crypto';
import { Cron } from 'croner';
import { LRUCache } from 'lru-cache';
import { zoneOf, type Zone } from './zone.ts';

/** When the runs of a schedule are meant to start. Times are in milliseconds since 1970. */
export type Timing =
  | { readonly cron: string; readonly timezone: string }
  | { readonly everyMs: number; readonly anchor: number }
  | { readonly at: number };

export interface Bounds {
  readonly startsAt?: number;
  readonly endsAt?: number;
}

/** The first slot after a moment; `undefined`: there is none. */
export function slotAfter(timing: Timing, { startsAt, endsAt }: Bounds, after: number): number | undefined {
  const from = startsAt === undefined ? after : Math.max(after, startsAt - 1);
  const slot = firstAfter(timing, from);
  return slot !== undefined && slot <= (endsAt ?? Infinity) ? slot : undefined;
}

function firstAfter(timing: Timing, after: number): number | undefined {
  if ('at' in timing) return timing.at > after ? timing.at : undefined;
  if ('cron' in timing) return patternOf(timing.cron, timing.timezone).next(after);
  const { everyMs, anchor } = timing;
  return anchor + Math.max(1, Math.floor((after - anchor) / everyMs) + 1) * everyMs;
}

/** At most `limit` slots after a moment. */
export function slotsAfter(timing: Timing, bounds: Bounds, after: number, limit: number): readonly number[] {
  const slots: number[] = [];
  for (let slot = slotAfter(timing, bounds, after); slot !== undefined; slot = slotAfter(timing, bounds, slot)) {
    slots.push(slot);
    if (slots.length === limit) break;
  }
  return slots;
}

/** The newest slot in (from, to]. It is sought backwards in growing steps, so that it takes few slots however many there are. */
export function newestSlot(timing: Timing, bounds: Bounds, from: number, to: number): number | undefined {
  for (let stepMs = minuteMs; ; stepMs *= 8) {
    const start = Math.max(from, to - stepMs);
    let newest: number | undefined;
    for (let slot = slotAfter(timing, bounds, start); slot !== undefined && slot <= to;) {
      newest = slot;
      slot = slotAfter(timing, bounds, slot);
    }
    if (newest !== undefined || start === from) return newest;
  }
}

const minuteMs = 60_000;

/** When a slot is due: up to `jitterMs` later, always by the same for one schedule and slot, so that schedules of one minute do not all start at once. */
export function dueTime(scheduleId: string, slot: number, jitterMs: number): number {
  if (jitterMs === 0) return slot;
  return (
    slot +
    (createHash('sha256')
      .update(`${scheduleId}\n${String(slot)}`)
      .digest()
      .readUInt32BE() %
      (jitterMs + 1))
  );
}

interface Pattern {
  readonly next: (after: number) => number | undefined;
}

const patterns = new LRUCache<string, Pattern>({ max: 1000 });

function patternOf(cron: string, timezone: string): Pattern {
  const name = `${timezone}\n${cron}`;
  const known = patterns.get(name);
  if (known) return known;
  const zone = zoneOf(timezone);
  if (!zone) throw new RangeError(`${timezone} is no time zone`);
  const pattern = createPattern(cron, zone);
  patterns.set(name, pattern);
  return pattern;
}

/** Why an expression is none; `undefined`: it is one. */
export function faultOfCron(cron: string): string | undefined {
  try {
    wallTimesOf(cron);
    return undefined;
  } catch (error) {
    return (error instanceof Error ? error.message : String(error)).replace(/^CronPattern: /, '');
  }
}

/** The wall times of an expression, each the first after another. croner knows no zone here: it leaves out times in a gap, and repeats some. */
function wallTimesOf(cron: string): (after: number) => number | undefined {
  const times = new Cron(cron, { mode: '5-part', timezone: 'UTC' });
  return (after) => times.nextRun(new Date(after))?.getTime();
}

/** An expression follows the clocks of its zone, which are set forward, over a gap, and back, to show an hour twice. */
function createPattern(cron: string, zone: Zone): Pattern {
  const nextWall = wallTimesOf(cron);
  const isEveryHour = /^(@hourly|\S+\s+\*(\/1)?\s)/.test(cron.trim());
  return { next: isEveryHour ? everyHour(nextWall, zone) : atWallTimes(nextWall, zone) };
}

/** Each wall time once: one in a gap at the first moment after it, one that is shown twice at the first. */
const atWallTimes =
  (nextWall: (after: number) => number | undefined, { toWall, firstAt }: Zone) =>
  (after: number): number | undefined => {
    for (let wall = nextWall(toWall(after)); wall !== undefined; wall = nextWall(wall)) {
      const at = firstAt(wall);
      if (at > after) return at;
    }
    return undefined;
  };

/** Expressions of every hour go on while the clocks are set: nothing is due in a gap, and an hour that is shown twice is two. */
const everyHour =
  (nextWall: (after: number) => number | undefined, { toWall, changeIn }: Zone) =>
  (after: number): number | undefined => {
    for (let from = after; ;) {
      const wall = toWall(from);
      const next = nextWall(wall);
      if (next === undefined) return undefined;
      const at = from + next - wall;
      const changed = changeIn(from, at);
      if (changed === undefined) return at;
      const shown = toWall(changed);
      if (nextWall(shown - 1) === shown) return changed;
      from = changed;
    }
  };
