export { callsTools, openCalls } from './state/calls.ts';
export type {
  BoundFiles,
  BoundMemory,
  BranchContext,
  FileData,
  FileInfo,
  InterruptOptions,
  MemoryChange,
  MemoryConditions,
  MemoryFound,
  MemoryOutcome,
  MemoryPage,
  MemoryQuery,
  NewMemory,
  NodeContext,
  ReadableFile,
  RunContext,
  ToolContext,
  ToolDeclaration,
} from './build/context.ts';
export { field, type Field, type FieldSpec } from './state/field.ts';
export { END, START } from './build/names.ts';
export { StateGraph, type CompiledGraph, type NodeFunction } from './build/graph.ts';
export type { McpCall, McpOffer } from './build/mcp-offer.ts';
export { offerMcp } from './build/offer-mcp.ts';
export { send, type Send } from './build/send.ts';
export type { AnswerPart, FinishReason, Model, ModelQuestion, ProviderData } from './model/model.ts';
export { chatModel, type ChatModelOptions } from './model/chat-model.ts';
export { modelNode, type ModelNodeOptions, type ModelState } from './model/model-node.ts';
export { outputNode, type OutputNodeOptions } from './model/output-node.ts';
export { createReactAgent, type ReactAgentOptions } from './model/react-agent.ts';
export { AnswersDiffer } from './state/answers-differ.ts';
export { DeadlinePassed } from './state/deadline.ts';
export { interrupt, type Interrupt } from './run/interrupt.ts';
export type { NodePolicy, RetryPolicy } from './build/policy.ts';
export { lastUserText } from './state/calls.ts';
export type { StandardSchema } from './state/standard-schema.ts';
export { userError } from './state/stated-error.ts';
export type { NewMessage, State, Update } from './state/state.ts';
export {
  contextExceeds,
  countTokensApproximately,
  splitContext,
  summarizeNode,
  type ContextBounds,
  type SplitContext,
  type SummarizeOptions,
} from './summary.ts';
export { remoteTool, tool, toolNode, type Tool, type ToolNode } from './build/tool.ts';
export { isCall, textOf, type Block, type CallBlock, type Message } from '@agent-workflow/protos/message';
export type { Answerer } from '@agent-workflow/protos/answerer';
export type { ModelUsage, Usage } from '@agent-workflow/protos/usage';
