/** A run cannot go on: why, and in which node. The message is for the caller. */
export class RunFailure extends Error {
  override readonly name = 'RunFailure';
  readonly code: 'NODE_ERROR' | 'GRAPH_ERROR' | 'BAD_REQUEST' | 'INTERNAL_ERROR';
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
