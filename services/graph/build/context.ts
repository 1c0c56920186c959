import type { Block } from '@agent-workflow/protos/message';

/** A tool as a model is told of it. */
export interface ToolDeclaration {
  readonly name: string;
  readonly description: string;
  /** A JSON Schema of type object. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

export interface MemoryFound {
  readonly id: string;
  readonly content: string;
  /** From 0 to 1. */
  readonly score: number;
  readonly memoryType: string;
  readonly category: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** The memory service, bound to the owner of the run. */
export interface BoundMemory {
  /** Stores one memory and gives its id. */
  readonly store: (memory: {
    readonly content: string;
    readonly memoryType?: string;
    readonly category?: string;
    readonly metadata?: Readonly<Record<string, unknown>>;
  }) => Promise<string>;
  /** Best first. */
  readonly search: (
    query: string,
    options?: {
      readonly limit?: number;
      readonly strategy?: string;
      readonly scoreThreshold?: number;
      readonly category?: string;
      readonly memoryType?: string;
    },
  ) => Promise<readonly MemoryFound[]>;
  readonly delete: (id: string) => Promise<void>;
}

/** What nodes and tools are handed beside the state. */
export interface RunContext {
  readonly runId: string;
  readonly threadId: string;
  /**
   * Fires when the run is stopped, when the time of this attempt is over, and when it, or a node beside it, has failed:
   * pass it on to whatever may take long.
   */
  readonly signal: AbortSignal;
  /** The request's `config`. */
  readonly config: Readonly<Record<string, unknown>>;
  /** Who calls: empty without authentication. */
  readonly user: Readonly<Record<string, unknown>>;
  readonly memory: BoundMemory;
  /** Every tool that a model may call in this run: the graph's own and those that the caller runs. */
  readonly tools: readonly ToolDeclaration[];
}

export interface NodeContext extends RunContext {
  readonly node: string;
  readonly step: number;
  /** The same for every attempt at this node in this step: for services that take such a key. */
  readonly idempotencyKey: string;
  /** Streams a piece of text, or one block, at once; the pieces of a node become one assistant message. */
  readonly emit: (piece: string | Block) => void;
  /** What the function `interrupt` does, also where the async context is lost. */
  readonly interrupt: (value: unknown) => unknown;
}

export interface ToolContext extends RunContext {
  readonly callId: string;
  /** The same for every attempt at this call: for services that take such a key. */
  readonly idempotencyKey: string;
  /** What the function `interrupt` does, also where the async context is lost. */
  readonly interrupt: (value: unknown) => unknown;
}
