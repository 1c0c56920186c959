import type { NodeContext } from './context.ts';
import { drawGraph } from './draw.ts';
import { END, nameWithin, START } from './names.ts';
import { messageOf } from '../state/failure.ts';
import { fieldTypes, type Fields, type FieldSpec } from '../state/field.ts';
import { createJoin, type Join } from './join.ts';
import { checkPolicy, type NodePolicy } from './policy.ts';
import { compileSchema, type JsonSchema } from '../state/schema.ts';
import type { State, Update } from '../state/state.ts';
import type { Tool, ToolNode } from './tool.ts';

// A node that only emits returns nothing: `void` lets it be written without a `return`.
// eslint-disable-next-line @typescript-eslint/no-invalid-void-type
type Result<F extends Fields> = Update<F> | undefined | void;
export type NodeFunction<F extends Fields> = (state: State<F>, context: NodeContext) => Result<F> | Promise<Result<F>>;
export type Route<F extends Fields> = (state: State<F>) => string | readonly string[];

/** A function, a tool node, or a graph that is run as one node. */
export type AnyNode = NodeFunction<Record<string, never>> | ToolNode | CompiledGraph;

interface ConditionalEdge {
  readonly route: Route<Record<string, never>>;
  /** Where it may lead; absent: anywhere. */
  readonly targets?: readonly string[];
}

/** A graph that is checked and ready to run. */
export interface CompiledGraph {
  readonly fields: Readonly<Record<string, FieldSpec<unknown>>>;
  /** In the order they were added, which is the order in which updates of one step are merged. */
  readonly nodes: ReadonlyMap<string, AnyNode>;
  /** How nodes are run that have something to say about it. */
  readonly policies: ReadonlyMap<string, NodePolicy>;
  readonly edges: ReadonlyMap<string, readonly string[]>;
  readonly joins: readonly Join[];
  readonly conditional: ReadonlyMap<string, readonly ConditionalEdge[]>;
  /** Those of sub-graphs among them. */
  readonly tools: readonly Tool[];
  /** Nodes, edges and a Mermaid drawing. */
  readonly drawing: ReturnType<typeof drawGraph>;
}

/** Builds a graph: declare fields, add nodes and edges, then {@link StateGraph.compile}. */
export class StateGraph<F extends Fields> {
  readonly #fields: F;
  readonly #nodes = new Map<string, AnyNode>();
  readonly #policies = new Map<string, NodePolicy>();
  readonly #edges = new Map<string, string[]>();
  readonly #joins: Join[] = [];
  readonly #conditional = new Map<string, ConditionalEdge[]>();

  constructor(fields: F) {
    for (const name of Object.keys(fields)) {
      if (reservedFields.has(name)) throw new Error(`field "${name}" is the service's own name`);
    }
    this.#fields = fields;
  }

  /**
   * Adds a node: a function of state and context, a {@link toolNode}, or a compiled graph, which is run to its end as one
   * node. A sub-graph shares context and summary, and the fields that both graphs declare: it reads their values, and what
   * its nodes write to them passes this graph's reducers too, in the order it was written. Its other fields begin anew
   * each time that it is run.
   * @throws Error when the name is taken, or the policy holds a value that is out of bounds.
   */
  addNode(name: string, node: NodeFunction<F> | ToolNode | CompiledGraph, policy: NodePolicy = {}): this {
    if (name === START || name === END || name === '') throw new Error(`"${name}" cannot be the name of a node`);
    if (this.#nodes.has(name)) throw new Error(`node "${name}" is added twice`);
    checkPolicy(name, policy);
    this.#nodes.set(name, node as AnyNode);
    if (Object.keys(policy).length > 0) this.#policies.set(name, policy);
    return this;
  }

  /** After `from`, go to `to`. After a list, go there when all of its nodes have finished, be it in different steps. */
  addEdge(from: string | readonly string[], to: string): this {
    if (typeof from === 'string') {
      this.#edges.set(from, [...(this.#edges.get(from) ?? []), to]);
      return this;
    }
    if (from.length === 0) throw new Error(`an edge to "${to}" leaves no node`);
    if (from.includes(START)) throw new Error(`an edge to "${to}" waits for START, which is no node`);
    this.#joins.push(createJoin(from, to));
    return this;
  }

  /** After `from`, go where `route` says. `targets` lists where that may be, for the drawing and the check. */
  addConditionalEdges(from: string, route: Route<F>, targets?: readonly string[]): this {
    const edge = { route: route as ConditionalEdge['route'], ...(targets ? { targets } : {}) };
    this.#conditional.set(from, [...(this.#conditional.get(from) ?? []), edge]);
    return this;
  }

  /** @throws Error naming the first node, edge, tool or field that cannot stand. */
  compile(): CompiledGraph {
    this.#refuseUnknownEnds();
    this.#refuseUnreachable();
    this.#refuseStrangers();
    this.#refuseBadSchemas();
    const parts = { nodes: this.#nodes, edges: this.#edges, joins: this.#joins, conditional: this.#conditional };
    return {
      fields: Object.fromEntries(Object.entries(this.#fields).map(([name, { spec }]) => [name, spec])),
      ...parts,
      policies: this.#policies,
      tools: [...new Set([...this.#nodes.values()].flatMap((node) => (typeof node === 'function' ? [] : node.tools)))],
      drawing: drawGraph(parts),
    };
  }

  /** Schemas are compiled here, so that a bad one stops the start and not a run. */
  #refuseBadSchemas(): void {
    for (const [name, { spec }] of Object.entries(this.#fields)) {
      if (!fieldTypes.includes(spec.type))
        throw new Error(`the type of field "${name}" is none of ${fieldTypes.join(', ')}`);
      if (spec.schema) checkSchema(spec.schema, `the schema of field "${name}"`);
    }
    for (const node of this.#nodes.values()) {
      if (typeof node === 'function') continue;
      for (const { name, parameters } of node.tools) checkSchema(parameters, `the parameters of tool "${name}"`);
    }
  }

  #refuseUnknownEnds(): void {
    const edges = [...this.#edges].flatMap(([from, targets]) => targets.map((to) => [from, to] as const));
    const conditional = [...this.#conditional].flatMap(([from, list]) =>
      list.flatMap(({ targets }) => [[from, END] as const, ...(targets ?? []).map((to) => [from, to] as const)]),
    );
    const joins = this.#joins.flatMap(({ from, to }) => from.map((name) => [name, to] as const));
    for (const [from, to] of [...edges, ...joins, ...conditional]) {
      if (from !== START && !this.#nodes.has(from)) throw new Error(`an edge leaves the unknown node "${from}"`);
      if (to !== END && !this.#nodes.has(to))
        throw new Error(`an edge from "${from}" leads to the unknown node "${to}"`);
    }
  }

  #refuseUnreachable(): void {
    const reached = new Set<string>();
    const walk = (from: string): void => {
      const free = this.#conditional.get(from)?.flatMap(({ targets }) => targets ?? [...this.#nodes.keys()]) ?? [];
      const joined = this.#joins.filter((join) => join.from.includes(from)).map(({ to }) => to);
      for (const to of [...(this.#edges.get(from) ?? []), ...joined, ...free]) {
        if (to === END || reached.has(to)) continue;
        reached.add(to);
        walk(to);
      }
    };
    walk(START);
    if (reached.size === 0) throw new Error('no edge leaves START');
    const lost = [...this.#nodes.keys()].find((name) => !reached.has(name));
    if (lost !== undefined) throw new Error(`no edge leads to the node "${lost}"`);
  }

  /** A field that two graphs share must be the same thing to both. */
  #refuseStrangers(): void {
    for (const [name, node] of this.#nodes) {
      if (typeof node === 'function' || !('nodes' in node)) continue;
      const mistaken = [...this.#nodes.keys()].find((other) => other.startsWith(nameWithin(name, '')));
      if (mistaken !== undefined)
        throw new Error(`node "${mistaken}" has a name that only nodes of the sub-graph "${name}" may have`);
      for (const [field, { type }] of Object.entries(node.fields)) {
        const own = Object.hasOwn(this.#fields, field) ? this.#fields[field]?.spec.type : undefined;
        if (own !== undefined && own !== type)
          throw new Error(`field "${field}" is of type ${own}, and of type ${type} in the sub-graph "${name}"`);
      }
    }
  }
}

/** Whether a value is what {@link StateGraph.compile} gives. */
export const isCompiledGraph = (value: unknown): value is CompiledGraph =>
  typeof value === 'object' && value !== null && 'nodes' in value && value.nodes instanceof Map && 'drawing' in value;

function checkSchema(schema: JsonSchema, what: string): void {
  try {
    compileSchema(schema);
  } catch (cause) {
    throw new Error(`${what} cannot be compiled as JSON Schema: ${messageOf(cause)}`, { cause });
  }
}

/** What the graph's nodes are called, as the record is asked with; those of a sub-graph behind its own name: `sub/node`. */
export const nodeNames = (
  graph: CompiledGraph,
): { readonly names: readonly string[]; readonly first: readonly string[] } => ({
  names: namesIn(graph),
  first: firstNodes(graph),
});

const namesIn = ({ nodes }: CompiledGraph): readonly string[] =>
  [...nodes].flatMap(([name, node]) => [
    name,
    ...(isCompiledGraph(node) ? namesIn(node).map((inner) => nameWithin(name, inner)) : []),
  ]);

const firstNodes = ({ edges, conditional }: CompiledGraph): readonly string[] =>
  conditional.has(START) ? [] : [...(edges.get(START) ?? [])].filter((name) => name !== END);

/** Of the places where a thread stands, the graph's own nodes: where its sub-graphs stand is carried beside them. */
export function ownNodes(graph: CompiledGraph, places: readonly string[]): readonly string[] {
  const known = new Set(nodeNames(graph).names);
  return places.filter((place) => graph.nodes.has(place) || !known.has(place));
}

/** Names in the state that the service fills itself. */
const reservedFields: ReadonlySet<string> = new Set(['context', 'context_summary', 'messages', 'removed_from_context']);
