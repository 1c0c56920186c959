import { requireObject } from '../state/refuse-unknown.ts';
import type { JsonSchema } from '../state/schema.ts';
import type { CompiledGraph } from './graph.ts';
import type { McpOffer } from './mcp-offer.ts';

/**
 * Gives a graph tools, resources and prompts of its own for clients of MCP, in place of one tool with the name of its agent. A call of one is a run
 * whose nodes read it as `ctx.context.mcp`.
 * @throws Error naming what has no name or address, or that of another
 */
export function offerMcp(graph: CompiledGraph, offer: McpOffer): CompiledGraph {
  requireObject('the second argument of offerMcp', offer);
  const { tools = [], resources = [], prompts = [] } = offer;
  requireNames('tool', tools, ({ name }) => name);
  requireNames('resource', resources, (resource) => ('uri' in resource ? resource.uri : resource.uriTemplate));
  requireNames('prompt', prompts, ({ name }) => name);
  const open = tools.find(({ inputSchema }) => (inputSchema as Partial<JsonSchema> | undefined)?.['type'] !== 'object');
  if (open) throw new Error(`the inputSchema of the MCP tool "${open.name}" must be a JSON Schema of type object`);
  for (const { name, inputSchema, outputSchema } of tools)
    for (const [field, schema] of Object.entries({ inputSchema, outputSchema })) {
      const outside = outsideReference(schema);
      if (outside !== undefined)
        throw new Error(
          `the ${field} of the MCP tool "${name}" refers to "${outside}": clients load nothing from outside`,
        );
    }
  return { ...graph, drawing: { ...graph.drawing, mcp: offer } };
}

/** A reference of a schema to another document; `undefined` where it has none. */
function outsideReference(schema: unknown): string | undefined {
  if (typeof schema !== 'object' || schema === null) return undefined;
  for (const [key, value] of Object.entries(schema)) {
    if ((key === '$ref' || key === '$dynamicRef') && typeof value === 'string') {
      if (!value.startsWith('#')) return value;
      continue;
    }
    const found = outsideReference(value);
    if (found !== undefined) return found;
  }
  return undefined;
}

function requireNames<T>(what: string, list: readonly T[], nameOf: (one: T) => unknown): void {
  const names = new Set<unknown>();
  for (const one of list) {
    const name = nameOf(one);
    if (typeof name !== 'string' || name === '') throw new Error(`an MCP ${what} has no name`);
    if (names.has(name)) throw new Error(`there are two MCP ${what}s named "${name}"`);
    names.add(name);
  }
}
