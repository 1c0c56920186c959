export { callsTools, openCalls } from './calls.ts';
export type { BoundMemory, MemoryFound, NodeContext, RunContext, ToolContext, ToolDeclaration } from './context.ts';
export { field, type Field, type FieldSpec } from './field.ts';
export { END, START } from './ends.ts';
export { StateGraph, type CompiledGraph, type NodeFunction } from './graph.ts';
export { interrupt, type Interrupt } from './interrupt.ts';
export type { NodePolicy, RetryPolicy } from './policy.ts';
export type { NewMessage, State, Update } from './state.ts';
export {
  contextExceeds,
  countTokensApproximately,
  splitContext,
  summarizeNode,
  type ContextBounds,
  type SplitContext,
  type SummarizeOptions,
} from './summary.ts';
export { remoteTool, tool, toolNode, type Tool, type ToolNode } from './tool.ts';
export { isCall, textOf, type Block, type CallBlock, type Message } from '@agent-workflow/protos/message';
