import { AsyncLocalStorage } from 'node:async_hooks';
import { hasMark } from '@agent-workflow/kit/mark';
import { sizes } from '@agent-workflow/kit/sizes';
import { toJsonValue } from '../state/json-value.ts';
import { deepFreeze } from '../state/state.ts';

/** A question that a node asked and nobody has answered. */
export interface Interrupt {
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
  readonly interrupt: (value: unknown) => unknown;
  /** Resolves when the time that `until` gives has come; otherwise it rejects, which ends the node. */
  readonly sleep: (until: (now: number) => number) => Promise<void>;
  /** The question without an answer. The run waits for it even when the node caught what `interrupt` threw. */
  readonly open: () => Interrupt | undefined;
  /** Its sleeps and when the first of those that have not ended ends; `undefined` when it does not sleep. */
  readonly asleep: () => { readonly sleeps: readonly number[]; readonly until: number } | undefined;
  /** Its sleeps, whether they have ended or not; absent when it has not slept. */
  readonly slept: () => readonly number[] | undefined;
  /** Later calls of `interrupt` and `sleep` throw. */
  readonly close: () => void;
}

const scopes = Symbol.for('@agent-workflow/graph: interrupts');
// The types of the global object know no symbols.
const shared = globalThis as unknown as Record<symbol, AsyncLocalStorage<InterruptScope> | undefined>;

/** All copies of this package share one: an agent's own copy of `interrupt` asks within the node that another copy runs. */
const current = (shared[scopes] ??= new AsyncLocalStorage<InterruptScope>());

/**
 * Asks the caller of the run, for example a person, a question. The run is interrupted here, and its caller gets `value`, which
 * must be JSON. With the answer the node (or the tool) runs again from its start, and this same call returns the answer.
 * Several calls in one node are answered in their order, so a node must ask the same things in the same order each time.
 * What the node emitted before is dropped.
 * @throws Error outside a node or tool that runs; in callbacks that have lost their async context use `ctx.interrupt`.
 */
export function interrupt(value: unknown): unknown {
  const scope = current.getStore();
  if (!scope) throw notRunning('interrupt()');
  return scope.interrupt(value);
}

/** The node whose code is running, its timers and promises included; `undefined` outside nodes and tools. */
export const nodeOfCode = (): string | undefined => current.getStore()?.node;

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
  readonly earlier: { readonly answers: readonly unknown[]; readonly sleeps?: readonly number[] };
  /** The time at which the step began. A sleep that ended then or before has ended. */
  readonly at: number;
  /** The clock, in milliseconds since 1970. */
  readonly now: () => number;
}

/** A scope for one run of a node or tool. */
export function createInterruptScope({ place, node, earlier, at, now }: ScopeOptions): InterruptScope {
  const { answers } = earlier;
  const sleeps = [...(earlier.sleeps ?? [])];
  let questions = 0;
  let begun = 0;
  let asked: Interrupt | undefined;
  let wakesAt = Infinity;
  let closed = false;

  const sleep: InterruptScope['sleep'] = async (until) => {
    if (closed) throw notRunning('sleep()');
    const own = begun++;
    const isNew = own >= sleeps.length;
    const end = isNew ? until(now()) : (sleeps[own] ?? 0);
    if (isNew) sleeps.push(end);
    if (end <= (isNew ? now() : at)) return;
    wakesAt = Math.min(wakesAt, end);
    throw new Suspended('the node sleeps');
  };

  return {
    node,
    interrupt: (value) => {
      if (closed) throw notRunning('interrupt()');
      if (asked) throw suspendedBy(asked);
      const own = questions++;
      if (own < answers.length) return deepFreeze(answers[own]);
      asked = { id: `${place}/${String(own)}`, node, value: toJsonValue(value, 'interrupt()', sizes.message) };
      throw suspendedBy(asked);
    },
    sleep: (until) => {
      const sleeping = sleep(until);
      // A node that does not wait for its sleep ends all the same and begins again then.
      sleeping.catch(() => undefined);
      return sleeping;
    },
    open: () => asked,
    asleep: () => (wakesAt === Infinity ? undefined : { sleeps, until: wakesAt }),
    slept: () => (sleeps.length === 0 ? undefined : sleeps),
    close: () => {
      closed = true;
    },
  };
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
