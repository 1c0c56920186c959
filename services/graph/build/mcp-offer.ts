import type { JsonSchema } from '../state/schema.ts';

interface Named {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
}

/** What the client of a call must have declared: else the call is refused before it begins. */
type McpNeed = 'elicitation' | 'sampling' | 'roots';

/** A tool as its callers see it. */
interface OfferedTool extends Named {
  /** A JSON Schema of type object. The graph checks the arguments itself. */
  readonly inputSchema: JsonSchema;
  readonly outputSchema?: JsonSchema;
  readonly annotations?: Readonly<Record<string, unknown>>;
  readonly needs?: readonly McpNeed[];
  /** Whether a call that takes longer becomes a task, for clients that know tasks. `required`: other clients cannot call it. */
  readonly task?: boolean | 'required';
  /** What it asks at once is asked by the call itself: there is no task before the answer. */
  readonly inputFirst?: boolean;
}

/** A resource at an address, or with `uriTemplate` many of them. */
type OfferedResource = Named & { readonly mimeType?: string } & (
    { readonly uri: string } | { readonly uriTemplate: string }
  );

/** A prompt and its arguments. */
interface OfferedPrompt extends Named {
  readonly arguments?: readonly { readonly name: string; readonly description?: string; readonly required?: boolean }[];
}

/** What clients of MCP see of an agent. */
export interface McpOffer {
  readonly tools?: readonly OfferedTool[];
  readonly resources?: readonly OfferedResource[];
  readonly prompts?: readonly OfferedPrompt[];
}

/** What a client of MCP asks of an agent: a node reads it as `ctx.context.mcp`. */
export interface McpCall {
  readonly method: 'tools/call' | 'resources/read' | 'prompts/get';
  /** The name of the tool or prompt, or the address of the resource. */
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** What the client has declared: `elicitation`, `sampling`, `roots`. */
  readonly capabilities: readonly string[];
}
