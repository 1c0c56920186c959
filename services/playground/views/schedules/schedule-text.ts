import type { ScheduleItem } from '@agent-workflow/client';
import { counted } from '../../ui/format.ts';
import { momentText } from '../../ui/time-text.ts';

type When = Pick<ScheduleItem, 'cron' | 'timezone' | 'every_seconds' | 'at'>;

/** When a schedule starts runs, in words: `30 8 * * MON-FRI in Europe/Berlin`, `every 2 hours`, `once, on …`. */
export function whenText({ cron, timezone, every_seconds: every, at }: When): string {
  if (cron !== undefined) return `${cron} in ${timezone ?? 'UTC'}`;
  if (every !== undefined) return everyText(every);
  if (at !== undefined) return `once, on ${momentText(msOf(at))}`;
  return 'never';
}

const units = [
  [86_400, 'day'],
  [3600, 'hour'],
  [60, 'minute'],
  [1, 'second'],
] as const;

/** An interval in the largest unit that divides it: `every hour`, `every 90 seconds`. */
function everyText(seconds: number): string {
  const [size, noun] = units.find(([each]) => seconds % each === 0) ?? [1, 'second'];
  return seconds === size ? `every ${noun}` : `every ${counted(seconds / size, noun)}`;
}

/** A time of the service as milliseconds since 1970: a text in ISO 8601, or a number of seconds. */
export const msOf = (at: string | number): number => (typeof at === 'number' ? at * 1000 : Date.parse(at));

/** More characters of a message are no title. */
const maxTitle = 120;

/** What a schedule is called: its name, else the first message of its runs, else its times. */
export function scheduleTitle(schedule: ScheduleItem): string {
  return schedule.name ?? (firstText(schedule.run).slice(0, maxTitle) || whenText(schedule));
}

/** The text of the first message that a request of a run has; empty where it has none. */
export function firstText(run: ScheduleItem['run']): string {
  const messages = Array.isArray(run['messages']) ? run['messages'] : [];
  const content: unknown = (messages[0] as { readonly content?: unknown } | undefined)?.content;
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  const texts = content.map((block: unknown) => (block as { readonly text?: unknown } | null)?.text);
  return texts.find((text) => typeof text === 'string') ?? '';
}

/** The agent that its runs name, if they name one. */
export function agentOf(run: ScheduleItem['run']): string | undefined {
  const agent: unknown = (run['config'] as { readonly agent?: unknown } | null | undefined)?.agent;
  return typeof agent === 'string' ? agent : undefined;
}
