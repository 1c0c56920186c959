import type { NodeContext, ToolContext } from '../build/context.ts';
import type { AnyNode, CompiledGraph, NodeFunction } from '../build/graph.ts';
import { isQuestion } from './interrupt.ts';
import type { Tool } from '../build/tool.ts';

/** A function of the agent that is about to run. */
interface CodeOfAgent {
  readonly kind: 'node' | 'tool';
  readonly name: string;
  readonly context: NodeContext | ToolContext;
}

/** How a function of the agent ended. One that interrupts the run with a question has not failed. */
type Ended = 'ok' | 'asked' | 'failed';

/** Called before a function of the agent runs, for example to begin a span. `run` must call the function, `end` gets how it ended. */
export type BeginCode = (code: CodeOfAgent) => {
  readonly run: <T>(work: () => T) => T;
  readonly end: (how: Ended) => void;
};

/** The same graph, with `begin` called before each attempt at a node and each tool call, and its `end` after it. */
export function surroundCode(graph: CompiledGraph, begin: BeginCode): CompiledGraph {
  const known = new Map<Tool, Tool>();
  const toolOf = (tool: Tool): Tool => {
    const same = known.get(tool) ?? surroundTool(tool, begin);
    known.set(tool, same);
    return same;
  };
  const nodeOf = (name: string, node: AnyNode): AnyNode => {
    if (typeof node === 'function') return surroundFunction(name, node, begin);
    return 'nodes' in node ? graphOf(node) : { ...node, tools: node.tools.map(toolOf) };
  };
  const graphOf = (own: CompiledGraph): CompiledGraph => ({
    ...own,
    nodes: new Map([...own.nodes].map(([name, node]) => [name, nodeOf(name, node)])),
    tools: own.tools.map(toolOf),
  });
  return graphOf(graph);
}

type AnyFunction = NodeFunction<Record<string, never>>;

const surroundFunction =
  (name: string, node: AnyFunction, begin: BeginCode): AnyFunction =>
  (state, context) =>
    watch(begin({ kind: 'node', name, context }), () => node(state, context));

function surroundTool(tool: Tool, begin: BeginCode): Tool {
  const { run, name } = tool;
  if (!run) return tool;
  return { ...tool, run: (args, context) => watch(begin({ kind: 'tool', name, context }), () => run(args, context)) };
}

/** A function that returns no promise still returns its value synchronously. */
function watch<T>({ run, end }: ReturnType<BeginCode>, work: () => T): T {
  const fail = (error: unknown): void => end(isQuestion(error) ? 'asked' : 'failed');
  try {
    const result = run(work);
    if (result instanceof Promise) result.then(() => end('ok'), fail);
    else end('ok');
    return result;
  } catch (error) {
    fail(error);
    throw error;
  }
}
