import type { FailureCode } from '@agent-workflow/kit/errors';

/** A run cannot go on: why, and in which node. The message is for the caller. */
export class RunFailure extends Error {
  override readonly name = 'RunFailure';
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

/** What code of the agent threw and the run goes on after: a call of a tool, or an attempt at a node that is made again. */
export interface CodeFault {
  readonly node: string;
  readonly tool?: string;
  readonly callId?: string;
  /** The number of the attempt that failed. */
  readonly attempt?: number;
  readonly error: unknown;
}

/** What V8 says of a change to a frozen value. */
const frozen =
  /^Cannot (?:assign to read only property|add property|delete property|define property|redefine property)|object is not extensible/;

/** What a thrown value says; one that comes of a change to state says that state is frozen. */
export const explain = (error: unknown): string => `${messageOf(error)}${frozenHint(error)}`;

/** Says that state is frozen where a change to it was thrown back; nothing otherwise. */
export const frozenHint = (error: unknown): string =>
  error instanceof TypeError && frozen.test(error.message)
    ? ' (state and context are frozen: return what changes)'
    : '';

/** Characters of what was thrown that are told: it goes into the record, the events and the reply. */
const toldCharacters = 2000;

/** What a thrown value says, for whoever wrote the node or tool that threw it; never its stack, and never all of a long text. */
export function messageOf(error: unknown): string {
  const text = toText(error);
  return text.length > toldCharacters ? `${text.slice(0, toldCharacters)} …` : text;
}

/** User code may throw anything: also what cannot be made a text, and what throws when it is looked at. */
function toText(error: unknown): string {
  try {
    return String(error instanceof Error ? error.message : error);
  } catch {
    return 'a value without a text';
  }
}
