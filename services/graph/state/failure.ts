import type { FailureCode } from '@agent-workflow/kit/errors';
import { hasMark } from '@agent-workflow/kit/mark';
import { nameOfClass } from './name-of.ts';

const mark: unique symbol = Symbol.for('@agent-workflow/graph: failure');

/** Why a run cannot go on, and in which node. The message is for the caller. */
export class RunFailure extends Error {
  override readonly name = 'RunFailure';
  readonly [mark] = true;
  readonly code: FailureCode;
  readonly node: string | undefined;

  constructor(
    code: RunFailure['code'],
    message: string,
    options: { readonly node?: string; readonly cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.node = options.node;
  }
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
export const explain = (error: unknown): string => `${messageOf(error)}${frozenHint(error)}`;

/** A hint that state is frozen when the error comes from a change to it; an empty text otherwise. */
const frozenHint = (error: unknown): string =>
  error instanceof TypeError && frozen.test(error.message)
    ? ' (state and context are frozen: return what changes)'
    : '';

/** Characters of a thrown message that go into the record, the events and the reply. */
const maxCharacters = 2000;

/** The message of a thrown value, shortened when it is long, without its stack. It is for the author of the node or tool. */
export function messageOf(error: unknown): string {
  const text = toText(error);
  return text.length > maxCharacters ? `${text.slice(0, maxCharacters)} …` : text;
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
