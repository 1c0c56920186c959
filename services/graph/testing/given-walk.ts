import { isCompiledGraph, isOfLangGraph } from '../build/graph.ts';
import { nameOf } from '../state/name-of.ts';

/** What JavaScript lets pass as the graph of a walk: one that is not compiled, and none at all. */
export function requireGraph(graph: unknown): void {
  if (isCompiledGraph(graph)) return;
  if (isOfLangGraph(graph))
    throw new Error(
      'the graph of a walk is one of LangGraph.js: give it to fromLangGraph() of @agent-workflow/langgraph',
    );
  if (typeof graph === 'object' && graph !== null && 'compile' in graph)
    throw new Error('the graph of a walk is not compiled: give graph.compile()');
  throw new Error(`the graph of a walk must be a compiled graph, not ${nameOf(graph)}`);
}

/** What JavaScript lets pass as messages: a text, one message without a list, and messages whose content is a text. */
export function requireMessages(context: unknown): void {
  const must = 'context of a walk must be a list of messages, as user() makes them';
  if (!Array.isArray(context)) throw new Error(`${must}, not ${nameOf(context)}`);
  const at = context.findIndex((message: unknown) => !Array.isArray(partOf(message, 'content')));
  if (at < 0) return;
  const given: unknown = context[at];
  const isObject = typeof given === 'object' && given !== null;
  throw new Error(`${must}: [${String(at)}] ${isObject ? 'has no list as its content' : `is ${nameOf(given)}`}`);
}

/** What JavaScript lets pass as the walk before: a walk that was not awaited, and what is none. */
export function requireValidFrom(from: unknown): void {
  if (from === undefined) return;
  if (typeof from !== 'object' || from === null || from instanceof Promise)
    throw new Error(`from must be what a walk gave, not ${nameOf(from)}`);
  const absent = ['state', 'steps', 'next', 'interrupts', 'openCalls'].find((part) => partOf(from, part) === undefined);
  if (absent !== undefined) throw new Error(`from must be what a walk gave: it has no ${absent}`);
}

const partOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>)[name] : undefined;
