import type { Channel } from './channels.ts';

/**
 * What one event of a run may give, in the order in which it does: each part is of a channel, and has so many numbers for itself, whatever else a
 * subscription asks for. What is more than that has the last of them: no part has as many but those of the tasks of a step.
 */
const parts = {
  begun: ['lifecycle', 2],
  answered: ['input', 2],
  updates: ['updates', 52],
  returned: ['tasks', 52],
  checkpoints: ['checkpoints', 3],
  values: ['values', 2],
  tasks: ['tasks', 52],
  custom: ['custom', 2],
  messages: ['messages', 5],
  tools: ['tools', 40],
  left: ['values', 2],
  requested: ['input', 40],
  ended: ['lifecycle', 2],
} as const satisfies Readonly<Record<string, readonly [channel: Channel, numbers: number]>>;

export type Part = keyof typeof parts;

/** So many numbers has what one event of a run gives. */
export const perEvent = 256;

const firsts = new Map<string, number>();
let next = 0;
for (const [name, [, numbers]] of Object.entries(parts)) {
  firsts.set(name, next);
  next += numbers;
}
const lasts = new Set(Object.entries(parts).map(([name, [, numbers]]) => (firsts.get(name) ?? 0) + numbers - 1));

export const channelOf = (part: Part): Channel => parts[part][0];

/** The number among those of its event of the one that stands behind `index` others of its part. */
export const numberWithin = (part: Part, index: number): number =>
  (firsts.get(part) ?? 0) + Math.min(index, parts[part][1] - 1);

/** The first number that a reader does not have who has come to this one: what has the last one of a part comes again. */
export const numberAfter = (within: number): number => (lasts.has(within) ? within : within + 1);
