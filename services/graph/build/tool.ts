import { messageOf } from '../state/failure.ts';
import { nameOf } from '../state/name-of.ts';
import { withNamesOfServers } from './same-names.ts';
import { requireObject, refuseUnknown } from '../state/refuse-unknown.ts';
import type { JsonSchema } from '../state/schema.ts';
import { isStandardSchema, toJsonSchema, type OutputOf, type StandardSchema } from '../state/standard-schema.ts';
import type { ToolContext, ToolDeclaration } from './context.ts';

type Args = Record<string, unknown>;

/**
 * What happens to a tool call when its step runs again after a crash or a failed attempt. `safe`: the call is made again. `once`: it
 * is made at most once; a call whose outcome is not on record is answered with an error. `pure`: as `safe`, and the call has no effect
 * outside, so that it may also be made before the step that asked for it is on record, and be dropped with that step.
 */
type Replay = 'safe' | 'once' | 'pure';

/** A tool. Without `run` it is a remote tool, which the caller of the run executes. */
export interface Tool extends ToolDeclaration {
  /** `safe` when absent. */
  readonly replay?: Replay;
  /** Judges the arguments in place of `parameters`, and gives them to `run` as it transforms them. */
  readonly schema?: StandardSchema;
  readonly run?: (args: Args, context: ToolContext) => unknown;
}

/** A tool as its author declares it. */
interface RemoteToolSpec extends Omit<ToolDeclaration, 'parameters'> {
  /** A JSON Schema of type object, or a schema of a validation library that can be written as one. */
  readonly parameters: JsonSchema | StandardSchema;
}

interface ToolSpec extends RemoteToolSpec, Pick<Tool, 'replay'> {
  /**
   * A schema of a validation library that judges the arguments in place of `parameters`, which the model reads. It is needed where the library cannot write it as
   * JSON Schema; otherwise `parameters` can be that schema.
   */
  readonly schema?: StandardSchema;
}

/**
 * Declares a tool. `parameters` is a JSON Schema, or a schema of a library that implements Standard Schema, as zod. When the arguments
 * break it, `run` is not called, and the model gets an error as the result; otherwise `run` gets the arguments as the schema transforms
 * them. What `run` returns, text or any JSON, is the result; when it throws, the result is an error with that message. Unless `replay`
 * is `once`, a call may be made more than once, each time with the same `ctx.idempotencyKey`.
 * @throws Error when its declaration is none, and one naming the tool when its schema cannot be written as JSON Schema, a member is unknown, or `run` is no function.
 * @example tool({ name: 'look_up', description: '…', parameters: z.object({ id: z.string() }) }, ({ id }) => find(id))
 */
export function tool<const D extends ToolSpec>(
  declaration: D,
  ...given: readonly [run: (args: ArgsOf<D>, context: ToolContext) => unknown]
): Tool {
  requireDeclaration(declaration);
  const { parameters, schema = isStandardSchema(parameters) ? parameters : undefined } = declaration;
  const { name, replay = 'safe' } = declaration;
  if (!replays.includes(replay))
    throw new Error(`replay of tool "${name}" is ${replay}: it must be ${replays.join(' or ')}`);
  requireValidRun(declaration, given);
  refuseUnknownParts(declaration);
  const instead = 'give it as "schema", and the same as JSON Schema as "parameters"';
  return {
    ...declaration,
    parameters: toParameters(declaration, instead),
    ...(schema && { schema }),
    run: given[0] as NonNullable<Tool['run']>,
  };
}

/**
 * Declares a tool that the caller of the run executes. A run that calls it is interrupted until the caller sends the result.
 * @throws Error as {@link tool}.
 */
export function remoteTool(declaration: RemoteToolSpec): Tool {
  requireDeclaration(declaration);
  refuseUnknown(`remote tool "${declaration.name}"`, '', declaration, remoteNames);
  return { ...declaration, parameters: toParameters(declaration, 'give JSON Schema') };
}

/** What JavaScript lets pass: the function before the declaration, which LangChain.js has, and one without a name. */
function requireDeclaration(given: unknown): void {
  requireObject('the declaration of a tool', given);
  const name = 'name' in given ? given.name : undefined;
  if (typeof name !== 'string') throw new Error(`the name of a tool must be a text, not ${nameOf(name)}`);
}

/**
 * What JavaScript lets pass: a tool of a declaration alone is a remote one, and nothing else is. A second argument that is no function,
 * as a name that a module does not export, is a mistake, and so is a function in the declaration.
 */
function requireValidRun(declaration: ToolSpec, given: readonly unknown[]): void {
  const [run] = given;
  if (run === undefined && 'run' in declaration)
    throw new Error(`tool "${declaration.name}" has run in its declaration: give the function after it`);
  if (given.length > 0 && typeof run !== 'function')
    throw new Error(`tool "${declaration.name}" must have a function after its declaration, not ${nameOf(run)}`);
}

/** Another tool may be the declaration: a function is then given in place of its own. */
function refuseUnknownParts({ run: _, ...declaration }: ToolSpec & { readonly run?: unknown }): void {
  refuseUnknown(`tool "${declaration.name}"`, '', declaration, specNames);
}

const specNames: Readonly<Record<keyof ToolSpec, true>> = {
  name: true,
  description: true,
  parameters: true,
  schema: true,
  replay: true,
};

const remoteNames: Readonly<Record<keyof RemoteToolSpec, true>> = { name: true, description: true, parameters: true };

const replays: readonly string[] = ['safe', 'once', 'pure'] satisfies Replay[];

function toParameters({ name, parameters }: RemoteToolSpec, instead: string): JsonSchema {
  if (!isStandardSchema(parameters)) return parameters;
  try {
    return toJsonSchema(parameters, 'input', instead);
  } catch (cause) {
    throw new Error(`the parameters of tool "${name}": ${messageOf(cause)}`, { cause });
  }
}

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

/** The arguments that `run` gets. */
type ArgsOf<D extends ToolSpec> = D extends { readonly schema: infer S extends StandardSchema }
  ? OutputOf<S>
  : D extends { readonly parameters: infer S extends StandardSchema }
    ? OutputOf<S>
    : JsonArgsOf<D['parameters']>;

/** The arguments that the `properties` and `required` of a JSON Schema describe. */
type JsonArgsOf<S> = S extends { readonly properties: infer P }
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
 * @throws Error when it is given no list of tools.
 */
export function toolNode(tools: readonly Tool[]): ToolNode {
  requireTools('what toolNode is given', tools);
  return { tools: withNamesOfServers(tools) };
}

/** What JavaScript lets pass: one tool without a list, a promise of tools, and functions that are no tools. */
export function requireTools(what: string, tools: unknown): void {
  if (!Array.isArray(tools)) throw new Error(`${what} must be a list of tools, not ${nameOf(tools)}`);
  const at = tools.findIndex((given: unknown) => typeof given !== 'object' || given === null || !('name' in given));
  if (at >= 0)
    throw new Error(`${what} must be tools made by tool() or remoteTool(): [${String(at)}] is ${nameOf(tools[at])}`);
}
