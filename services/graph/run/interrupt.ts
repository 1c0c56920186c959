import { AsyncLocalStorage } from 'node:async_hooks';
import { sizes } from '@agent-workflow/kit/sizes';
import { deepFreeze } from '../state/state.ts';

/** A question that a node asked and nobody has answered. */
export interface Interrupt {
  /** The same however often the step is run until it commits. */
  readonly id: string;
  /** The node of the graph that is run; for a node of a sub-graph the one that holds the sub-graph. */
  readonly node: string;
  /** What was asked, as JSON. */
  readonly value: unknown;
}

/** Whoever may ask: a node, or one call of a tool, while it runs. */
export interface Asker {
  /** The node that runs, by its name in its own graph. */
  readonly node: string;
  /** Gives the answer when there is one; otherwise throws, so that its caller ends. */
  readonly interrupt: (value: unknown) => unknown;
  /** What was asked and has no answer. It stands even where what `interrupt` threw was caught. */
  readonly asked: () => Interrupt | undefined;
  /** From here on nothing can be asked. */
  readonly close: () => void;
}

const current = new AsyncLocalStorage<Asker>();

/**
 * Asks whoever called the run, a person say: the run is interrupted here, and its caller is told `value`, which must be
 * JSON. When the answer has come, the node (or the tool) runs again from its start, and this same call gives the answer.
 * Several calls in one node are answered in their order, so a node must ask the same things in the same order each time.
 * What was emitted before is not kept.
 * @throws Error outside a node or tool that runs; in callbacks that have lost their async context use `ctx.interrupt`.
 */
export function interrupt(value: unknown): unknown {
  const asker = current.getStore();
  if (!asker) throw notRunning();
  return asker.interrupt(value);
}

/** The node whose code runs just now, or left this behind; `undefined` outside of nodes and their tools. */
export const nodeOfCode = (): string | undefined => current.getStore()?.node;

/** Does work in which {@link interrupt} asks through this asker. */
export async function askingAs<T>(asker: Asker, work: () => T | Promise<T>): Promise<T> {
  try {
    return await current.run(asker, work);
  } finally {
    asker.close();
  }
}

/** An asker for one run of a node or tool, with the answers to what it asked in runs before, in their order. */
export function createAsker(place: string, node: string, answers: readonly unknown[]): Asker {
  let index = 0;
  let asked: Interrupt | undefined;
  let closed = false;
  return {
    node,
    interrupt: (value) => {
      if (closed) throw notRunning();
      if (asked) throw new Interrupted(asked.id);
      const at = index++;
      if (at < answers.length) return deepFreeze(answers[at]);
      asked = { id: `${place}/${String(at)}`, node, value: toJson(value) };
      throw new Interrupted(asked.id);
    },
    asked: () => asked,
    close: () => {
      closed = true;
    },
  };
}

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

/** Ends a node that asked. Nobody outside the engine needs to know it. */
class Interrupted extends Error {
  override readonly name = 'Interrupted';

  constructor(id: string) {
    super(`the run is interrupted by ${id}`);
  }
}

/** Whether this was thrown because a question was asked: nothing has failed then. */
export const isQuestion = (error: unknown): boolean => error instanceof Interrupted;

function toJson(value: unknown): unknown {
  const json = JSON.stringify(value) as string | undefined;
  if (json === undefined) throw new TypeError('interrupt() was given a value that is not JSON');
  if (json.length > sizes.message)
    throw new RangeError(`interrupt() was given ${json.length} characters of JSON, more than ${sizes.message}`);
  return JSON.parse(json);
}

const notRunning = (): Error => new Error('interrupt() was called outside a node or tool that runs');
