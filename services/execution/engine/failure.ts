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

/** What a thrown value says, for whoever wrote the node or tool that threw it; never its stack. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
