import type { NodeContext } from './context.ts';
import { drawGraph, type Drawing } from './draw.ts';
import { END, nameWithin, START } from './names.ts';
import { messageOf } from '../state/failure.ts';
import { fieldTypes, misfit, type Fields, type FieldSpec } from '../state/field.ts';
import { createJoin, type Join } from './join.ts';
import { lostPlace, whyNoJson } from '../state/json-value.ts';
import { checkPolicy, type NodePolicy } from './policy.ts';
import type { Send } from './send.ts';
import type { StepCode } from './step-code.ts';
import { nameOf } from '../state/name-of.ts';
import { requireObject } from '../state/refuse-unknown.ts';
import { compileSchema, type JsonSchema } from '../state/schema.ts';
import type { State, Update } from '../state/state.ts';
import { requireTools, type Tool, type ToolNode } from './tool.ts';

// A node that only emits returns nothing: `void` lets it be written without a `return`.
// eslint-disable-next-line @typescript-eslint/no-invalid-void-type
type Result<F extends Fields> = Update<F> | undefined | void;
export type NodeFunction<F extends Fields, C extends NodeContext = NodeContext> = (
  state: State<F>,
  context: C,
) => Result<F> | Promise<Result<F>>;
type Led = string | Send | readonly (string | Send)[];
type Route<F extends Fields> = (state: State<F>) => Led;

/** An argument that nobody has, with what is wrong for its type: so a type that is wrong is an error where the method is called. */
type Fault<Words extends string, Names extends string> = [Names] extends [never]
  ? readonly []
  : readonly [fault: Readonly<Record<Words, Names>>];

/** What edges name and no node is. A name that is not known before the graph runs may be any, and a builder without chained nodes too. */
type UnknownEnds<N extends string, E extends string> = [N] extends [never]
  ? never
  : string extends N | E
    ? never
    : Exclude<E, N | typeof START | typeof END>;

/** What a route returns that is none of its targets. */
type OutsideOf<R, T extends string> = [T] extends [never]
  ? never
  : string extends (R extends readonly (infer One)[] ? One : R) | T
    ? never
    : Exclude<Extract<R extends readonly (infer One)[] ? One : R, string>, T | typeof END>;

/** A function, a tool node, or a graph that is run as one node. */
export type AnyNode = NodeFunction<Record<string, never>> | ToolNode | CompiledGraph;

interface ConditionalEdge {
  readonly route: Route<Record<string, never>>;
  /** The nodes to which it may lead; absent: any node. */
  readonly targets?: readonly string[];
}

/** A graph that is checked and ready to run. */
export interface CompiledGraph {
  readonly fields: Readonly<Record<string, FieldSpec<unknown>>>;
  /** In the order in which they were added. Updates of one step are merged in this order. */
  readonly nodes: ReadonlyMap<string, AnyNode>;
  /** The policies of the nodes that have one. */
  readonly policies: ReadonlyMap<string, NodePolicy>;
  readonly edges: ReadonlyMap<string, readonly string[]>;
  readonly joins: readonly Join[];
  readonly conditional: ReadonlyMap<string, readonly ConditionalEdge[]>;
  /** The tools of all tool nodes, those of sub-graphs included. */
  readonly tools: readonly Tool[];
  /** An error made where each node was added: its stack says where. */
  readonly added: ReadonlyMap<string, Error>;
  /** What runs the nodes of each step together; absent: each is run by itself. */
  readonly steps?: StepCode;
  /** Nodes before and after which every run stops until its caller lets it go on; `*` stands for every node. */
  readonly breakpoints?: { readonly before?: readonly string[]; readonly after?: readonly string[] };
  /** Nodes, edges and a Mermaid drawing. */
  readonly drawing: Drawing;
}

/** `N` and `E` are the names of its nodes, and those that its edges name, as far as they are known before it runs. */
class GraphBuilder<F extends Fields, N extends string, E extends string> {
  readonly #fields: F;
  readonly #nodes = new Map<string, AnyNode>();
  readonly #policies = new Map<string, NodePolicy>();
  readonly #added = new Map<string, Error>();
  readonly #edges = new Map<string, string[]>();
  readonly #joins: Join[] = [];
  readonly #conditional = new Map<string, ConditionalEdge[]>();

  /** @throws Error when it is given no object of fields, or a field is not made by {@link field}. */
  constructor(fields: F) {
    requireObject('what StateGraph is given', fields);
    for (const [name, given] of Object.entries(fields)) {
      if (reservedFields.has(name)) throw new Error(`field "${name}" is the service's own name`);
      requireField(name, given);
    }
    this.#fields = fields;
  }

  /**
   * Adds a node: a function of state and context, a {@link toolNode}, or a compiled graph, which is run to its end as one
   * node. A sub-graph shares context and summary, and the fields that both graphs declare: it reads their values, and what
   * its nodes write to them passes this graph's reducers too, in the order in which it was written. Its other fields have their
   * defaults at the start of each run of the sub-graph.
   * @throws Error when the name is taken or no text, or the policy holds a value that is out of bounds.
   */
  addNode<C extends NodeContext = NodeContext, const Name extends string = string>(
    name: Name,
    node: NodeFunction<F, C> | ToolNode | CompiledGraph,
    policy: NodePolicy = {},
  ): GraphBuilder<F, N | Name, E> {
    requireName(name);
    if (name === START || name === END || name === '') throw new Error(`"${name}" cannot be the name of a node`);
    if (this.#nodes.has(name)) throw new Error(`node "${name}" is added twice`);
    requireNode(name, node);
    checkPolicy(name, policy);
    if (policy.speculative && typeof node !== 'function')
      throw new Error(`node "${name}" cannot be speculative: only a function can, no tool node and no sub-graph`);
    this.#nodes.set(name, node as AnyNode);
    this.#added.set(name, new Error('added here'));
    if (Object.keys(policy).length > 0) this.#policies.set(name, policy);
    return this as GraphBuilder<F, N | Name, E>;
  }

  /**
   * The graph goes from `from` to `to`. From a list of nodes it goes to `to` when all of them have finished, in whichever steps.
   * @throws Error when one of them is no name.
   */
  addEdge<const From extends string, const To extends string>(
    from: From | readonly From[],
    to: To,
  ): GraphBuilder<F, N, E | From | To> {
    requireEdge(from, to);
    if (typeof from === 'string') {
      this.#edges.set(from, [...(this.#edges.get(from) ?? []), to]);
      return this as GraphBuilder<F, N, E | From | To>;
    }
    if (from.length === 0) throw new Error(`an edge to "${to}" leaves no node`);
    if (from.some((name) => name === START)) throw new Error(`an edge to "${to}" waits for START, which is no node`);
    this.#joins.push(createJoin(from, to));
    return this as GraphBuilder<F, N, E | From | To>;
  }

  /**
   * The graph goes from `from` to what `route` returns: names of nodes, each of which runs once, and branches made by `send`. `targets`
   * lists all nodes that it may lead to, for the drawing and for the checks of {@link compile}. A route must be pure.
   * @throws Error when `route` is no function, or `targets` no list of names.
   */
  addConditionalEdges<const From extends string, R extends Led, const To extends string = never>(
    from: From,
    route: (state: State<F>) => R,
    targets?: readonly To[],
    ..._fault: Fault<'the route returns what is none of its targets', OutsideOf<R, To>>
  ): GraphBuilder<F, N, E | From | To> {
    requireRoute(from, route, targets);
    const edge = { route: route as ConditionalEdge['route'], ...(targets ? { targets } : {}) };
    this.#conditional.set(from, [...(this.#conditional.get(from) ?? []), edge]);
    return this as GraphBuilder<F, N, E | From | To>;
  }

  /** Checks the graph, and gives it as it is now. @throws Error naming the first node, edge, tool or field with a fault. */
  compile(..._fault: Fault<'an edge names what is no node', UnknownEnds<N, E>>): CompiledGraph {
    this.#refuseUnknownEnds();
    this.#refuseUnreachable();
    this.#refuseSharedNames();
    this.#refuseBadSchemas();
    this.#refuseSameTools();
    // Copies: what is added to the builder later is in no graph that was checked before.
    const parts = {
      nodes: new Map(this.#nodes),
      edges: new Map(this.#edges),
      joins: [...this.#joins],
      conditional: new Map(this.#conditional),
    };
    return {
      fields: Object.fromEntries(Object.entries(this.#fields).map(([name, { spec }]) => [name, spec])),
      ...parts,
      policies: new Map(this.#policies),
      added: new Map(this.#added),
      tools: [...new Set([...this.#nodes.values()].flatMap((node) => (typeof node === 'function' ? [] : node.tools)))],
      drawing: drawGraph(parts),
    };
  }

  /** Compiles every schema, so that a bad one stops the start of the process and not a run. */
  #refuseBadSchemas(): void {
    for (const [name, { spec }] of Object.entries(this.#fields)) {
      if (!fieldTypes.includes(spec.type))
        throw new Error(`the type of field "${name}" is none of ${fieldTypes.join(', ')}`);
      if (spec.schema) checkSchema(spec.schema, `the schema of field "${name}"`);
      const fault = spec.default === undefined ? undefined : (misfit(spec, spec.default) ?? jsonFault(spec.default));
      if (fault !== undefined) throw new Error(`the default of field "${name}" ${fault}`);
    }
    for (const node of this.#nodes.values()) {
      if (typeof node === 'function') continue;
      for (const { name, parameters } of node.tools) checkSchema(parameters, `the parameters of tool "${name}"`);
    }
  }

  /** Of two tools with one name a tool node would only ever run the first. */
  #refuseSameTools(): void {
    for (const [name, node] of this.#nodes) {
      if (typeof node === 'function' || 'nodes' in node) continue;
      const names = node.tools.map((tool) => tool.name);
      const twice = names.find((tool, index) => names.indexOf(tool) !== index);
      if (twice !== undefined) throw new Error(`node "${name}" has two tools named "${twice}"`);
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

  /** A field that is declared in a sub-graph too must have the same type there, and no node may have a name like a node of a sub-graph. */
  #refuseSharedNames(): void {
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

/** Builds a graph: declare fields, add nodes and edges, then `compile()`. */
export type StateGraph<F extends Fields, N extends string = string, E extends string = never> = GraphBuilder<F, N, E>;
export const StateGraph: new <F extends Fields>(fields: F) => GraphBuilder<F, never, never> = GraphBuilder;

/** What JavaScript lets pass: what a field is declared by, without `field`. */
function requireField(name: string, given: unknown): void {
  const spec = typeof given === 'object' && given !== null && 'spec' in given ? given.spec : undefined;
  if (typeof spec !== 'object' || spec === null)
    throw new Error(`field "${name}" must be made by field({ type, default, … })`);
}

/** Why JSON does not keep a default: nodes would read another value, or none. */
function jsonFault(value: unknown): string | undefined {
  if (typeof value === 'function') return 'must be the value itself, not a function that gives it';
  try {
    const json = JSON.stringify(value) as string | undefined;
    if (json === undefined) return `holds a value that ${whyNoJson(undefined, value, 'default')}`;
    const lost = lostPlace(value, json, 'default');
    return lost === undefined ? undefined : `holds ${lost}`;
  } catch (cause) {
    return `holds a value that ${whyNoJson(cause, value, 'default')}`;
  }
}

function requireName(name: unknown): void {
  if (typeof name !== 'string') throw new Error(`the name of a node must be a text, not ${nameOf(name)}`);
}

/** What JavaScript lets pass: a graph that is not compiled, and no node at all. */
function requireNode(name: string, node: unknown): void {
  if (typeof node === 'function') return;
  const parts = typeof node === 'object' && node !== null ? node : {};
  if ('compile' in parts) throw new Error(`node "${name}" is a graph that is not compiled: add graph.compile()`);
  if (!('tools' in parts)) throw new Error(`node "${name}" is no function, no tool node and no compiled graph`);
  requireTools(`the tools of node "${name}"`, parts.tools);
}

/** Whether a value is what {@link StateGraph.compile} gives. */
export const isCompiledGraph = (value: unknown): value is CompiledGraph =>
  typeof value === 'object' && value !== null && 'nodes' in value && value.nodes instanceof Map && 'drawing' in value;

/** Whether a value is a graph that LangGraph.js has compiled, or an agent of the package `langchain`, which holds one. */
export function isOfLangGraph(value: unknown): boolean {
  const graph = typeof value === 'object' && value !== null && 'graph' in value ? value.graph : value;
  return typeof graph === 'object' && graph !== null && 'getSubgraphsAsync' in graph;
}

function checkSchema(schema: JsonSchema, what: string): void {
  if ((schema as unknown) === null || typeof schema !== 'object')
    throw new Error(`${what} must be a JSON Schema: an object`);
  try {
    compileSchema(schema);
  } catch (cause) {
    throw new Error(`${what} cannot be compiled as JSON Schema: ${messageOf(cause)}`, { cause });
  }
}

/** The names of all nodes, those of sub-graphs as `sub/node`, and the nodes that an edge from START leads to. */
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

/** Of the next nodes on record, those of the graph itself and those that it does not have. Positions in its sub-graphs are in the continuation. */
export function ownNodes(graph: CompiledGraph, places: readonly string[]): readonly string[] {
  const known = new Set(nodeNames(graph).names);
  return places.filter((place) => graph.nodes.has(place) || !known.has(place));
}

/** Names in state and updates that mean something to the service: no field may have one. */
const reservedFields: ReadonlySet<string> = new Set(['context', 'context_summary', 'messages', 'removed_from_context']);

/** What JavaScript lets pass as the ends of an edge: what is no name, as a constant that a module does not export, and a list of targets. */
function requireEdge(from: unknown, to: unknown): void {
  if (typeof from !== 'string' && !Array.isArray(from))
    throw new Error(`an edge must leave a node by its name, or several by a list of names, not ${nameOf(from)}`);
  const all: readonly unknown[] = [from].flat();
  const at = all.findIndex((name) => typeof name !== 'string');
  if (at >= 0)
    throw new Error(
      `the list of nodes that an edge leaves must be one of names: [${String(at)}] is ${nameOf(all[at])}`,
    );
  const edge = typeof from === 'string' ? `the edge from ${placeOf(from)}` : 'the edge from several nodes';
  if (typeof to !== 'string') throw new Error(`${edge} must lead to one node by its name, not ${nameOf(to)}`);
}

/** What JavaScript lets pass: no route, and a map of targets, which LangGraph.js has. */
function requireRoute(from: unknown, route: unknown, targets: unknown): void {
  if (typeof from !== 'string')
    throw new Error(`a conditional edge must leave a node by its name, not ${nameOf(from)}`);
  const edge = `the conditional edge from ${placeOf(from)}`;
  if (typeof route !== 'function')
    throw new Error(`${edge} must have a function that returns names of nodes, not ${nameOf(route)}`);
  if (targets === undefined || targets === null) return;
  if (!Array.isArray(targets))
    throw new Error(
      `the targets of ${edge} must be a list of the names that its function returns, not ${nameOf(targets)}`,
    );
  const at = targets.findIndex((target) => typeof target !== 'string');
  if (at >= 0)
    throw new Error(`the targets of ${edge} must be names of nodes: [${String(at)}] is ${nameOf(targets[at])}`);
}

const placeOf = (node: string): string => (node === START ? 'START' : `"${node}"`);
