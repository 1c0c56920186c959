import type { ToolContext, ToolDeclaration } from './context.ts';

type Args = Record<string, unknown>;

/**
 * What becomes of a call that was under way when its step is run again, after a crash or a failed attempt: `safe` makes it
 * again; `once` never does, and answers it as an error where its outcome is not known.
 */
export type Replay = 'safe' | 'once';

interface OwnToolDeclaration extends ToolDeclaration {
  /** `safe` when it is not said. */
  readonly replay?: Replay;
}

/** A tool that runs here, or, without `run`, at the caller. */
export interface Tool extends OwnToolDeclaration {
  readonly run?: (args: Args, context: ToolContext) => unknown;
}

/**
 * Declares a tool. `parameters` is a JSON Schema; arguments that break it are answered to the model as an error and never
 * reach `run`. What `run` returns is the result, text or any JSON; what it throws is answered as an error. A call may be made
 * more than once, with the same `ctx.idempotencyKey`, unless `replay` is `once`.
 * @example tool({ name: 'look_up', description: '…', parameters: { type: 'object', properties: { id: { type: 'string' } } } }, (args) => find(args.id))
 */
export function tool<const D extends OwnToolDeclaration>(
  declaration: D,
  run: (args: ArgsOf<D['parameters']>, context: ToolContext) => unknown,
): Tool {
  return { ...declaration, run: run as NonNullable<Tool['run']> };
}

/** Declares a tool that the caller runs: a run that calls it is interrupted until the result comes. */
export const remoteTool = (declaration: ToolDeclaration): Tool => declaration;

interface JsonTypes {
  readonly string: string;
  readonly number: number;
  readonly integer: number;
  readonly boolean: boolean;
}

type ValueOf<S> = S extends { readonly enum: readonly (infer V)[] }
  ? V
  : S extends { readonly type: infer N extends keyof JsonTypes }
    ? JsonTypes[N]
    : unknown;

/** The arguments that a schema's `properties` and `required` describe. */
export type ArgsOf<S> = S extends { readonly properties: infer P }
  ? S extends { readonly required: readonly (infer R)[] }
    ? { readonly [K in keyof P as K extends R ? K : never]: ValueOf<P[K]> } & {
        readonly [K in keyof P as K extends R ? never : K]?: ValueOf<P[K]>;
      }
    : { readonly [K in keyof P]?: ValueOf<P[K]> }
  : Args;

/** A node that runs the calls of the last assistant message. */
export interface ToolNode {
  readonly tools: readonly Tool[];
}

/**
 * A node that answers the open calls of the last assistant message: its own tools at once and side by side; calls of
 * remote tools wait for the caller.
 */
export const toolNode = (tools: readonly Tool[]): ToolNode => ({ tools });
