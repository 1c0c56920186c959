import { noUsage, type Usage } from '@agent-workflow/protos/usage';
import { readUsage, sumUsage } from '../state/usage.ts';
import type { NodeContext, ToolContext } from '../build/context.ts';
import type { StepCode, StepContext } from '../build/step-code.ts';
import type { AnyNode, CompiledGraph, NodeFunction } from '../build/graph.ts';
import { isSuspension } from './interrupt.ts';
import type { Tool } from '../build/tool.ts';

/** A function of the agent that is about to run. */
interface CodeOfAgent {
  readonly kind: 'node' | 'tool';
  readonly name: string;
  readonly context: NodeContext | ToolContext | StepContext;
}

/** How a function of the agent ended. One that asks a question or sleeps has not failed. */
type Ended = 'ok' | 'suspended' | 'failed';

/**
 * Called before a function of the agent runs, for example to begin a span. `run` must call the function, `end` gets how it ended and the
 * tokens that it reported.
 */
export type BeginCode = (code: CodeOfAgent) => {
  readonly run: <T>(work: () => T) => T;
  readonly end: (how: Ended, usage: Usage) => void;
};

/** The same graph, with `begin` called before each attempt at a node and each tool call, and its `end` after it. */
export function surroundCode(graph: CompiledGraph, begin: BeginCode, known = new Map<Tool, Tool>()): CompiledGraph {
  const toolOf = (tool: Tool): Tool => {
    const same = known.get(tool) ?? surroundTool(tool, begin);
    known.set(tool, same);
    return same;
  };
  const nodeOf = (name: string, node: AnyNode): AnyNode => {
    if (typeof node === 'function') return surroundFunction(name, node, begin);
    return 'nodes' in node ? surroundCode(node, begin, known) : { ...node, tools: node.tools.map(toolOf) };
  };
  return {
    ...graph,
    nodes: new Map([...graph.nodes].map(([name, node]) => [name, nodeOf(name, node)])),
    tools: graph.tools.map(toolOf),
    ...(graph.steps && { steps: surroundSteps(graph.steps, begin) }),
  };
}

/** Each node of a step that is run as a whole begins and ends with it. */
const surroundSteps = (steps: StepCode, begin: BeginCode): StepCode => ({
  ...steps,
  run: (state, given) => {
    const whole = (context: StepContext): ReturnType<StepCode['run']> => steps.run(state, context);
    const around = given.nodes.reduceRight<typeof whole>(
      (inner, name) => (context) => watch(begin({ kind: 'node', name, context }), context, inner),
      whole,
    );
    return around(given);
  },
});

type AnyFunction = NodeFunction<Record<string, never>>;

const surroundFunction =
  (name: string, node: AnyFunction, begin: BeginCode): AnyFunction =>
  (state, context) =>
    watch(begin({ kind: 'node', name, context }), context, (own) => node(state, own));

function surroundTool(tool: Tool, begin: BeginCode): Tool {
  const { run, name } = tool;
  if (!run) return tool;
  return {
    ...tool,
    run: (args, context) => watch(begin({ kind: 'tool', name, context }), context, (own) => run(args, own)),
  };
}

/** A function that returns no promise still returns its value synchronously. */
function watch<C extends NodeContext | ToolContext | StepContext, T>(
  { run, end }: ReturnType<BeginCode>,
  context: C,
  work: (context: C) => T,
): T {
  let sum = noUsage;
  const usage: C['usage'] = (given) => {
    context.usage(given);
    sum = sumUsage(sum, readUsage(given));
  };
  const fail = (error: unknown): void => end(isSuspension(error) ? 'suspended' : 'failed', sum);
  try {
    const result = run(() => work({ ...context, usage }));
    if (result instanceof Promise) result.then(() => end('ok', sum), fail);
    else end('ok', sum);
    return result;
  } catch (error) {
    fail(error);
    throw error;
  }
}
