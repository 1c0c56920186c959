import { idFrom } from '@agent-workflow/kit/ids';
import type { Answerer } from '@agent-workflow/protos/answerer';
import type { InterruptOptions } from '../build/context.ts';
import { readAddressed } from '../state/addressed.ts';
import { nameOf } from '../state/name-of.ts';
import { refuseUnknown, requireObject } from '../state/refuse-unknown.ts';

/** What was asked in one place, for the run that brings the answer. */
export interface Asked {
  /** The hash of the key, or of the value where the author gave no key. */
  readonly what: string;
  /** The last part of the id of the question. */
  readonly number: number;
  /** The number of the question in whose place this one was asked. */
  readonly before?: number;
  /** Set when its deadline passed without an answer, and it has no default. */
  readonly passed?: true;
  /** Set when several were asked, and their answers differ. */
  readonly differ?: true;
  /** Who answered it. Absent for a default. */
  readonly by?: readonly Answerer[];
}

/** What earlier runs of a node, or of one call of a tool node, have been given. */
export interface Earlier {
  /** Answers to its questions, in the order of the questions. */
  readonly answers: readonly unknown[];
  /** What each of them answers. Absent where there are none. */
  readonly asked?: readonly Asked[];
  /** When its sleeps began, in their order and in milliseconds since 1970. Absent when it has not slept. */
  readonly slept?: readonly number[];
  /** Its key where it began, which it keeps. Absent before that. */
  readonly key?: string;
}

const optionNames: Readonly<Record<keyof InterruptOptions, true>> = {
  key: true,
  deadline: true,
  default: true,
  to: true,
  notOwner: true,
  quorum: true,
};
const longestKey = 256;

/**
 * The hash of a question. `value` is plain JSON. Who may answer is a part of it: an answer of the owner is none in the place of others, nor one of some roles
 * in that of others. @throws Error when the options are none.
 */
export function hashOf(value: unknown, options: InterruptOptions = {}): string {
  requireObject('what interrupt() is given after the question', options);
  refuseUnknown('what interrupt() is given', '', options, optionNames);
  const { key } = options;
  const { to, ...more } = readAddressed(options);
  const whom = to ? `${canonical([to.toSorted(), more])} ` : '';
  if (key === undefined) return hash(`${whom}value ${canonical(value)}`);
  if (typeof key !== 'string' || key === '' || key.length > longestKey)
    throw new TypeError(
      `the key of interrupt() must be a text of 1 to ${String(longestKey)} characters, not ${typeof key === 'string' ? `one of ${String(key.length)}` : nameOf(key)}`,
    );
  return hash(`${whom}key ${key}`);
}

const hash = (text: string): string => idFrom(text, 'question');

/** JSON whose members are in one order, whichever order the author gave them. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_name, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
