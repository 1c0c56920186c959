import { appendFileSync } from 'node:fs';
import { relative } from 'node:path';
import { isProof } from './proof.ts';

/** What became of a test, or of a file outside of its tests (then `title` says what happened). */
export interface Outcome {
  readonly what: 'passed' | 'failed' | 'skipped';
  /** From the root of the tree; empty where ava names none. */
  readonly file: string;
  readonly title: string;
  /** Of a failure, in one line. */
  readonly reason?: string;
  /** A failure that running once more cannot excuse. */
  readonly isProof?: boolean;
}

/** An error as ava tells it: that of an assertion has no message of its own where the test gave none, one that was thrown is a cause. */
interface Failure {
  readonly message?: string;
  readonly stack?: string;
  readonly originalError?: unknown;
  readonly formattedDetails?: readonly { readonly label: string; readonly formatted: string }[];
}

/** What ava says of a run as it goes on: of its events those fields that are read here. */
interface AvaEvent {
  readonly type: string;
  readonly testFile?: string;
  readonly title?: string;
  readonly skip?: boolean;
  readonly err?: Failure;
  readonly period?: number;
  readonly nonZeroExitCode?: number;
  readonly signal?: string;
  /** Tests that had begun and not ended, by file. */
  readonly pendingTests?: ReadonlyMap<string, ReadonlySet<string>>;
}

/** Adds a line of JSON for each outcome, so that a run that is broken off leaves what it knew. */
export async function recordEvents(events: AsyncIterable<AvaEvent>, path: string): Promise<void> {
  for await (const event of events)
    for (const outcome of outcomesOf(event)) appendFileSync(path, `${JSON.stringify(outcome)}\n`);
}

export const readOutcomes = (text: string): readonly Outcome[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Outcome);

const crashes = new Set(['uncaught-exception', 'unhandled-rejection', 'internal-error', 'missing-ava-import']);

export function outcomesOf(event: AvaEvent): readonly Outcome[] {
  const { type, title = type, err } = event;
  const of = { file: event.testFile === undefined ? '' : relative(process.cwd(), event.testFile), title };
  if (type === 'test-passed') return [{ what: 'passed', ...of }];
  if (type === 'selected-test') return event.skip === true ? [{ what: 'skipped', ...of }] : [];
  if (type === 'test-failed' || type === 'hook-failed' || crashes.has(type))
    return [{ what: 'failed', ...of, ...judge(err ?? {}) }];
  if (type === 'worker-failed') return [{ what: 'failed', ...of, reason: endOf(event), isProof: false }];
  return type === 'timeout' || type === 'process-exit' ? unfinished(event) : [];
}

const endOf = ({ nonZeroExitCode, signal }: AvaEvent): string =>
  nonZeroExitCode === undefined ? `ended by ${String(signal)}` : `ended with ${nonZeroExitCode}`;

const unfinished = ({ type, period = 0, pendingTests = new Map() }: AvaEvent): readonly Outcome[] =>
  [...pendingTests].flatMap(([file, titles]) =>
    [...titles].map((title) => ({
      what: 'failed' as const,
      file: relative(process.cwd(), file),
      title,
      reason: type === 'timeout' ? `nothing ended within ${period} ms` : 'the process ended during the test',
      isProof: false,
    })),
  );

function judge(failure: Failure): Pick<Outcome, 'reason' | 'isProof'> {
  const message = messageOf(failure);
  const { stack = '' } = failure;
  return { reason: inOneLine(message), isProof: isProof({ message, stack }) };
}

function messageOf({ message = '', originalError, formattedDetails = [] }: Failure): string {
  const cause = originalError instanceof Error ? originalError.cause : undefined;
  if (cause instanceof Error) return `${cause.name}: ${cause.message}`;
  return [message, ...formattedDetails.map(({ label, formatted }) => `${label} ${formatted}`)].join('\n').trim();
}

const inOneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim().slice(0, reasonLength);
const reasonLength = 300;
