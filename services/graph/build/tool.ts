import type { ToolContext, ToolDeclaration } from './context.ts';

type Args = Record<string, unknown>;

/**
 * What happens to a tool call when its step runs again after a crash or a failed attempt. `safe`: the call is made again. `once`: it
 * is made at most once; a call whose outcome is not on record is answered with an error.
 */
type Replay = 'safe' | 'once';

interface OwnToolDeclaration extends ToolDeclaration {
  /** `safe` when absent. */
  readonly replay?: Replay;
}

/** A tool. Without `run` it is a remote tool, which the caller of the run executes. */
export interface Tool extends OwnToolDeclaration {
  readonly run?: (args: Args, context: ToolContext) => unknown;
}

/**
 * Declares a tool. `parameters` is a JSON Schema; when the arguments break it, `run` is not called, and the model gets an
 * error as the result. What `run` returns, text or any JSON, is the result; when it throws, the result is an error with that message.
 * Unless `replay` is `once`, a call may be made more than once, each time with the same `ctx.idempotencyKey`.
 * @example tool({ name: 'look_up', description: '…', parameters: { type: 'object', properties: { id: { type: 'string' } } } }, (args) => find(args.id))
 */
export function tool<const D extends OwnToolDeclaration>(
  declaration: D,
  run: (args: ArgsOf<D['parameters']>, context: ToolContext) => unknown,
): Tool {
  return { ...declaration, run: run as NonNullable<Tool['run']> };
}

/** Declares a tool that the caller of the run executes. A run that calls it is interrupted until the caller sends the result. */
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
type ArgsOf<S> = S extends { readonly properties: infer P }
  ? S extends { readonly required: readonly (infer R)[] }
    ? { readonly [K in keyof P as K extends R ? K : never]: ValueOf<P[K]> } & {
        readonly [K in keyof P as K extends R ? never : K]?: ValueOf<P[K]>;
      }
    : { readonly [K in keyof P]?: ValueOf<P[K]> }
  : Args;

/** A node that runs the tool calls of the last assistant message. */
export interface ToolNode {
  readonly tools: readonly Tool[];
}

/**
 * A node that answers the open tool calls of the last assistant message. It runs its own tools concurrently; calls of remote tools
 * wait for the caller.
 */
export const toolNode = (tools: readonly Tool[]): ToolNode => ({ tools });
