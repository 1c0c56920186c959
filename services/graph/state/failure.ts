import type { FailureCode, FailureReason, ModelParameter } from '@agent-workflow/kit/errors';
import { hasMark } from '@agent-workflow/kit/mark';
import { classOfError, nameOfClass } from './name-of.ts';
import { reasonOf } from './reason-of.ts';

const mark: unique symbol = Symbol.for('@agent-workflow/graph: failure');

/** What callers get of a failure: a text without words of servers and libraries, and why the code of the agent failed, where it did. */
interface Shown {
  readonly text: string;
  readonly reason?: FailureReason | undefined;
  readonly parameter?: ModelParameter | undefined;
  /** The class of what was thrown, where no reason says more. */
  readonly thrown?: string | undefined;
}

interface FailureOptions {
  readonly node?: string | undefined;
  readonly cause?: unknown;
  /** Absent: the message itself. */
  readonly shown?: Shown | undefined;
}

/** Why a run cannot go on, and in which node. The message is for the author and the log; callers get what is `shown`. */
export class RunFailure extends Error {
  override readonly name = 'RunFailure';
  readonly [mark] = true;
  readonly code: FailureCode;
  readonly node: string | undefined;
  readonly shown: Shown;

  constructor(code: RunFailure['code'], message: string, { node, cause, shown }: FailureOptions = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.node = node;
    this.shown = shown ?? { text: message };
  }
}

/** The failure of `what`, which is code of the author that threw `cause`. */
export function failureOfCode(code: FailureCode, what: string, cause: unknown, node?: string): RunFailure {
  const { text, reason, parameter } = reasonOf(cause);
  const shown = {
    text: `${what} failed: ${cut(text)}${frozenHint(cause)}`,
    ...{ reason, parameter },
    ...(reason === 'unexpected' && { thrown: classOfError(cause) }),
  };
  return new RunFailure(code, `${what} failed: ${explain(cause)}`, { node, cause, shown });
}

/** The failure with the place where it happened before its texts. */
export function failureAt(place: string, node: string, failure: RunFailure): RunFailure {
  const { code, message, cause } = failure;
  const own = shownOf(failure);
  const shown = { ...own, text: `${place}: ${own.text}` };
  return new RunFailure(code, `${place}: ${message}`, { node, cause, shown });
}

/** What callers get of a failure, which may be of a copy of this package that shows its message. */
export function shownOf(failure: Omit<RunFailure, 'shown'> & { readonly shown?: Shown }): Shown {
  const { shown, message, cause } = failure;
  if (shown !== undefined) return shown;
  return cause === undefined ? { text: message } : reasonOf(cause);
}

/** Whether this is a {@link RunFailure}, of whichever copy of this package: an agent may bring its own. */
export const isRunFailure = (error: unknown): error is RunFailure => hasMark(error, mark);

/** An error of the agent's code that does not end the run: the error of a tool call, or of an attempt at a node that is tried again. */
export interface CodeFault {
  readonly node: string;
  readonly tool?: string;
  readonly callId?: string;
  /** The branch of a fan-out in which the node ran. */
  readonly branch?: number;
  /** The number of the attempt that failed. */
  readonly attempt?: number;
  readonly error: unknown;
}

/** The message of V8 for a change to a frozen value. */
const frozen =
  /^Cannot (?:assign to read only property|add property|delete property|define property|redefine property)|object is not extensible/;

/** The message of a thrown value; for a change to state it adds that state is frozen. */
const explain = (error: unknown): string => `${messageOf(error)}${frozenHint(error)}`;

/** A hint that state is frozen when the error comes from a change to it; an empty text otherwise. */
const frozenHint = (error: unknown): string => (isFrozenFault(error) ? frozenText : '');

const frozenText = ' (state and context are frozen: return what changes)';

function isFrozenFault(error: unknown): boolean {
  try {
    return error instanceof TypeError && frozen.test(error.message);
  } catch {
    return false;
  }
}

/** Characters of a thrown message that go into the record, the events and the reply. */
const maxCharacters = 2000;

/** The message of a thrown value, shortened when it is long, without its stack. It is for the author of the node or tool. */
export function messageOf(error: unknown): string {
  return cut(toText(error));
}

const cut = (text: string): string => (text.length > maxCharacters ? `${text.slice(0, maxCharacters)} …` : text);

/** What a model gets of what a tool threw: the words of the author, and of an error of the system, a driver or a parser its reason. */
export function textForModel(error: unknown): string {
  const { text, isOfSystem } = reasonOf(error);
  return isOfSystem ? cut(text) : messageOf(error);
}

const partsOf = ({ name, message, cause }: Error): readonly unknown[] => [name, message, cause];

/** The thrown value, or an error in place of one that refuses every access, as a revoked proxy does. */
export function readable(thrown: unknown): unknown {
  try {
    // Reads what is read of an error later.
    if (thrown instanceof Error) partsOf(thrown);
    return thrown;
  } catch (cause) {
    return new Error(notShown, { cause });
  }
}

/** The agent's code may throw any value, even one whose `toString` throws. */
function toText(error: unknown): string {
  try {
    const own: unknown = error instanceof Error ? error.message : error;
    // The text of a function is its source.
    if (typeof own === 'function') return 'a function';
    return typeof own === 'object' && own !== null ? textOfObject(own) : String(own);
  } catch {
    return notShown;
  }
}

const notShown = 'a value that cannot be shown';

/** What an object that is no error says of itself: its message, its own text, its JSON, or its class where JSON would keep little of it. */
function textOfObject(thrown: object): string {
  const { message, toString } = thrown as { readonly message?: unknown; readonly toString?: unknown };
  if (typeof message === 'string' && message !== '') return message;
  if (Array.isArray(thrown) || typeof toString !== 'function') return jsonOf(thrown);
  const value: unknown = thrown;
  const text = String(value);
  return /^\[object .*\]$/.test(text) ? (nameOfClass(thrown) ?? jsonOf(thrown)) : text;
}

function jsonOf(thrown: object): string {
  try {
    const json: unknown = JSON.stringify(thrown);
    return typeof json === 'string' && json !== '{}' ? json : notShown;
  } catch {
    return 'an object that is not JSON';
  }
}
