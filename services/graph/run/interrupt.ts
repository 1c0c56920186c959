import { AsyncLocalStorage } from 'node:async_hooks';
import { hasMark } from '@agent-workflow/kit/mark';
import { sizes } from '@agent-workflow/kit/sizes';
import { RunFailure } from '../state/failure.ts';
import { toJsonValue } from '../state/json-value.ts';
import { deepFreeze } from '../state/state.ts';
import type { Answerer } from '@agent-workflow/protos/answerer';
import type { InterruptOptions } from '../build/context.ts';
import { readAddressed, type Addressed } from '../state/addressed.ts';
import { AnswersDiffer } from '../state/answers-differ.ts';
import { DeadlinePassed, readDeadline, type Deadline } from '../state/deadline.ts';
import { hashOf, type Asked, type Earlier } from './question.ts';

/** A question that a node asked and nobody has answered. */
export interface Interrupt extends Deadline, Addressed {
  /** The same in every attempt at the step. */
  readonly id: string;
  /** The node that asks; for a node of a sub-graph, the node that holds the sub-graph. */
  readonly node: string;
  /** What was asked, as JSON. */
  readonly value: unknown;
}

/** One run of a node or of a tool call, which may ask questions and sleep. */
export interface InterruptScope {
  /** The node that runs, by its name in its own graph. */
  readonly node: string;
  /** Returns the answer when there is one; otherwise it throws, which ends the node. */
  readonly interrupt: (value: unknown, options?: InterruptOptions) => unknown;
  /** Who answered the question that `interrupt` was asked last. */
  readonly answeredBy: () => readonly Answerer[];
  /** Resolves when the time has come that `until` gives for a sleep that begins at `start`; otherwise it rejects, which ends the node. */
  readonly sleep: (until: (start: number) => number) => Promise<void>;
  /** The question without an answer. The run waits for it even when the node caught what `interrupt` threw. */
  readonly open: () => OpenQuestion | undefined;
  /** When the first of its sleeps ends that have not ended; `undefined` when it does not sleep. */
  readonly asleep: () => number | undefined;
  /** Set when a place asked a third question: the run fails even when the node caught what `interrupt` threw. */
  readonly fault: () => RunFailure | undefined;
  /** What it was given that still holds, and its sleeps. */
  readonly given: () => Omit<Earlier, 'key'>;
  /** Later calls of `interrupt` and `sleep` throw. */
  readonly close: () => void;
}

interface OpenQuestion {
  readonly open: Interrupt;
  readonly shown: Asked;
}

const scopes = Symbol.for('@agent-workflow/graph: interrupts');
// The types of the global object know no symbols.
const shared = globalThis as unknown as Record<symbol, AsyncLocalStorage<InterruptScope> | undefined>;

/** All copies of this package share one: an agent's own copy of `interrupt` asks within the node that another copy runs. */
const current = (shared[scopes] ??= new AsyncLocalStorage<InterruptScope>());

/**
 * Asks the caller of the run, for example a person, a question. The run is interrupted here, and its caller gets `value`, which
 * must be JSON. With the answer the node (or the tool) runs again from its start, and this same call returns the answer.
 * Several calls in one node are answered in their order. An answer belongs to the question that was shown: where the node asks something
 * else in the same place, that is asked anew, once. With a `key` the question is the same as long as its key is, else as long as its value is.
 * What the node emitted before is dropped. With a `deadline` the run goes on by itself then, with the `default`. With `to`, callers with a role answer it.
 * @throws DeadlinePassed where nobody has answered until the deadline, and the question has no default.
 * @throws AnswersDiffer where a question has a `quorum`, and one of its callers has given another answer than those before.
 * @throws Error outside a node or tool that runs; in callbacks that have lost their async context use `ctx.interrupt`.
 */
export function interrupt(value: unknown, options?: InterruptOptions): unknown {
  const scope = current.getStore();
  if (!scope) throw notRunning('interrupt()');
  return scope.interrupt(value, options);
}

/** The node whose code is running, its timers and promises included; `undefined` outside nodes and tools. */
export const nodeOfCode = (): string | undefined => current.getStore()?.node;

/** Whether the node or tool asked or slept: what it returned or threw then is no result. */
export const hasLeft = ({ open, asleep, fault }: InterruptScope): boolean =>
  open() !== undefined || asleep() !== undefined || fault() !== undefined;

/** Runs `work`; calls of {@link interrupt} inside it use this scope. */
export async function inInterruptScope<T>(scope: InterruptScope, work: () => T | Promise<T>): Promise<T> {
  try {
    return await current.run(scope, work);
  } finally {
    scope.close();
  }
}

interface ScopeOptions {
  /** The ids of its questions begin with it. */
  readonly place: string;
  readonly node: string;
  /** What its earlier runs have been given: to calls in the same order. */
  readonly earlier: Earlier;
  /** The time at which the step began. A sleep that ended then or before has ended. */
  readonly at: number;
  /** The clock, in milliseconds since 1970. */
  readonly now: () => number;
}

/** A scope for one run of a node or tool. */
export function createInterruptScope({ place, node, earlier, at, now }: ScopeOptions): InterruptScope {
  let answers = earlier.answers;
  let asked = earlier.asked ?? [];
  let starts = earlier.slept ?? [];
  let questions = 0;
  let begun = 0;
  let answeredBy: readonly Answerer[] = [];
  let open: OpenQuestion | undefined;
  let fault: RunFailure | undefined;
  let wakesAt = Infinity;
  let closed = false;

  const sleep: InterruptScope['sleep'] = async (until) => {
    if (closed) throw notRunning('sleep()');
    const known = starts[begun++];
    const start = known ?? now();
    if (known === undefined) starts = [...starts, start];
    const end = until(start);
    if (end <= (known === undefined ? now() : at)) return;
    wakesAt = Math.min(wakesAt, end);
    throw new Suspended('the node sleeps');
  };

  return {
    node,
    interrupt: (given, options) => {
      if (closed) throw notRunning('interrupt()');
      if (open) throw suspendedBy(open.open);
      if (fault) throw new Suspended(fault.message);
      const value = toJsonValue(given, 'interrupt()', sizes.message);
      const what = hashOf(value, options);
      const own = questions++;
      const known = asked[own];
      if (known?.what === what) {
        answeredBy = deepFreeze(known.by ?? []);
        if (known.passed) throw new DeadlinePassed();
        if (known.differ) throw new AnswersDiffer();
        return deepFreeze(answers[own]);
      }
      const about = { ...readDeadline(options, now()), ...readAddressed(options) };
      if (known?.before !== undefined) {
        fault = changedAgain(node, place, [known.before, known.number]);
        throw new Suspended(fault.message);
      }
      const number = nextNumber(asked);
      open = {
        open: { id: `${place}/${String(number)}`, node, value, ...about },
        shown: { what, number, ...(known && { before: known.number }) },
      };
      // What was asked after a question that differs was asked under another premise.
      if (known) [answers, asked] = [answers.slice(0, own), asked.slice(0, own)];
      throw suspendedBy(open.open);
    },
    answeredBy: () => answeredBy,
    sleep: (until) => {
      const sleeping = sleep(until);
      // A node that does not wait for its sleep ends all the same and begins again then.
      sleeping.catch(() => undefined);
      return sleeping;
    },
    open: () => open,
    asleep: () => (wakesAt === Infinity ? undefined : wakesAt),
    fault: () => fault,
    given: () => ({
      answers,
      ...(asked.length > 0 && { asked }),
      ...(starts.length > 0 && { slept: starts }),
    }),
    close: () => {
      closed = true;
    },
  };
}

/** No two questions of a node have one number, so that an id never names two values. */
const nextNumber = (asked: readonly Asked[]): number => Math.max(-1, ...asked.map(({ number }) => number)) + 1;

function changedAgain(node: string, place: string, numbers: readonly [number, number]): RunFailure {
  const ids = numbers.map((number) => `"${place}/${String(number)}"`).join(' and ');
  const what = `node "${node}" asked a third question in the place of the questions ${ids}`;
  const help = 'ask the same each time that the node begins, or give interrupt() a key';
  return new RunFailure('NodeFailed', `${what}: ${help}`, { node });
}

const suspendedBy = ({ id }: Interrupt): Suspended => new Suspended(`the run is interrupted by ${id}`);

/**
 * Reads `resume` of a request against the open questions: an object whose keys are all ids of theirs answers those;
 * anything else is one bare answer, when exactly one question is open.
 * @returns answers by id, or `undefined` when the questions do not allow it.
 */
export function readAnswers(
  open: readonly Pick<Interrupt, 'id'>[],
  resume: unknown,
): Readonly<Record<string, unknown>> | undefined {
  if (open.length === 0) return undefined;
  const ids = new Set(open.map(({ id }) => id));
  if (typeof resume === 'object' && resume !== null && !Array.isArray(resume)) {
    const keys = Object.keys(resume);
    if (keys.length > 0 && keys.every((key) => ids.has(key))) return resume as Record<string, unknown>;
  }
  const [only] = open;
  return only && open.length === 1 ? { [only.id]: resume } : undefined;
}

const mark: unique symbol = Symbol.for('@agent-workflow/graph: question');

/** Thrown by `interrupt` and `sleep` to end the node that asks or sleeps. It never leaves the engine. */
class Suspended extends Error {
  override readonly name = 'Suspended';
  readonly [mark] = true;
}

/** Whether `interrupt` or `sleep` threw this, which is no failure. */
export const isSuspension = (error: unknown): boolean => hasMark(error, mark);

const notRunning = (what: string): Error => new Error(`${what} was called outside a node or tool that runs`);
