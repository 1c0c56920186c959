import { jsonObject, jsonText } from '../../../../http/json.ts';
import { GraphQuery, GraphReply } from '../../schemas/graph.ts';
import { endpoint } from '../common/endpoint.ts';
import * as examples from './examples.ts';

/** The graph: nodes, edges and a drawing; `info`, `nodes` and `edges` are in the shape that the reference client reads. */
export const getGraph = endpoint({
  name: 'getGraph',
  tag: 'graph',
  summary: 'Get the graph: nodes, edges and a drawing',
  description:
    'The nodes and edges of an agent, and the same as a drawing in Mermaid. 404 when there is no such agent.',
  example: examples.getGraph,
  method: 'GET',
  path: '/v1/graph',
  isOfAgent: true,
  access: { resource: 'graph', action: 'read' },
  input: GraphQuery,
  reply: GraphReply,
  handle: async ({ input, call }, { execution }) => {
    const { graphJson, fieldsJson } = await execution.getGraph(input, call());
    const graph = jsonText(graphJson);
    const shown = toClientGraph(JSON.parse(graph) as Drawing, JSON.parse(jsonText(fieldsJson)) as object);
    return `${jsonObject({ graph }).slice(0, -1)},${JSON.stringify(shown).slice(1)}`;
  },
});

interface Drawing {
  readonly nodes: readonly { readonly id: string; readonly type: string }[];
  readonly edges: readonly { readonly source: string; readonly target: string; readonly conditional: boolean }[];
}

/** Nodes with names, edges with ids, and the facts about the graph that the reference client shows. */
const toClientGraph = ({ nodes, edges }: Drawing, fields: object): object => ({
  info: {
    node_count: nodes.length,
    edge_count: edges.length,
    checkpointer: true,
    checkpointer_type: 'threads',
    publisher: false,
    store: true,
    interrupt_before: [],
    interrupt_after: [],
    context_type: 'messages',
    id_generator: 'uuid7',
    id_type: 'string',
    state_type: 'object',
    state_fields: Object.keys(fields),
  },
  nodes: nodes.map((node) => ({ ...node, name: node.id })),
  edges: edges.map((edge, index) => ({ id: `edge-${String(index + 1)}`, ...edge })),
});
