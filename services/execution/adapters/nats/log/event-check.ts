import { eventKinds } from '@agent-workflow/protos/event-parts';
import type { EventBatch } from '@agent-workflow/protos/event-pack';
import { isTerminal } from '../../../ports/log.ts';

const kinds: ReadonlySet<unknown> = new Set(eventKinds);
/** The furthest time that a date can hold, in milliseconds. */
const furthest = 8.64e15;

type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === 'string';
const isCount: Check = (value) => Number.isSafeInteger(value) && Number(value) >= 0;
const isTime: Check = (value) => Number.isInteger(value) && Math.abs(Number(value)) <= furthest;
const isFlag: Check = (value) => typeof value === 'boolean';
const isKind: Check = (value) => kinds.has(value);
const isNotEmpty: Check = (value) => value instanceof Uint8Array && value.byteLength > 0;

const orAbsent =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value);

const areCounts: Check = (value) => typeof value === 'object' && value !== null && Object.values(value).every(isCount);

type Checks = readonly (readonly [name: string, check: Check])[];

const scopeChecks: Checks = [
  ['runId', isText],
  ['threadId', isText],
  ['requestId', isText],
  ['isNewThread', orAbsent(isFlag)],
];

const eventChecks: Checks = [
  ['kind', isKind],
  ['at', isTime],
  ['data', isNotEmpty],
  ['node', orAbsent(isText)],
  ['step', orAbsent(isCount)],
  ['messageId', orAbsent(isText)],
  ['role', orAbsent(isText)],
  ['emitted', orAbsent(isFlag)],
  ['tasks', orAbsent(isText)],
  ['repeat', orAbsent(areCounts)],
];

const passes = (value: unknown, checks: Checks): boolean =>
  typeof value === 'object' &&
  value !== null &&
  checks.every(([name, check]) => check((value as Readonly<Record<string, unknown>>)[name]));

/**
 * Whether a batch has what its readers rely on: what another process has written may be anything. The JSON of an event's data is not
 * parsed, which would cost as much as the event itself. `last` and `ended` are what its frame says of it.
 */
export function isReadable({ scope, events }: EventBatch, last: number, ended: boolean): boolean {
  const end = events.at(-1);
  return (
    end?.seq === last &&
    isTerminal(end) === ended &&
    passes(scope, scopeChecks) &&
    events.every((event) => passes(event, eventChecks))
  );
}
