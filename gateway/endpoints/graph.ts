import { jsonObject, jsonText } from '../http/json.ts';
import type { Ask } from '../http/endpoint.ts';
import type { Services } from './common/services.ts';

/** The graph: nodes, edges and a drawing; also as clients of other services of this kind read it. */
export async function getGraph(ask: Ask, { execution }: Services): Promise<string> {
  const { graphJson, fieldsJson } = await execution.getGraph({}, ask.call());
  const graph = jsonText(graphJson);
  const shown = showGraph(JSON.parse(graph) as Drawing, JSON.parse(jsonText(fieldsJson)) as Fields);
  return `${jsonObject({ graph }).slice(0, -1)},${JSON.stringify(shown).slice(1)}`;
}

/** The fields of the graph's state; also as one JSON Schema. */
export async function getStateSchema(ask: Ask, { execution }: Services): Promise<string> {
  const { fieldsJson } = await execution.getGraph({}, ask.call());
  const fields = jsonText(fieldsJson);
  const schema = toJsonSchema(JSON.parse(fields) as Fields);
  return `${jsonObject({ fields }).slice(0, -1)},${JSON.stringify(schema).slice(1)}`;
}

interface Drawing {
  readonly nodes: readonly { readonly id: string; readonly type: string }[];
  readonly edges: readonly { readonly source: string; readonly target: string; readonly conditional: boolean }[];
}
type Fields = Readonly<Record<string, Readonly<Record<string, unknown>> & { readonly type: string }>>;

/** Nodes with names, edges with ids, and what there is around them. */
const showGraph = ({ nodes, edges }: Drawing, fields: Fields): object => ({
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

/** A field that takes any value has no type in JSON Schema. */
function toJsonSchema(fields: Fields): object {
  const entries = Object.entries(fields);
  const properties = Object.fromEntries(
    entries.map(([name, { required: _required, type, ...field }]) => [
      name,
      type === 'any' ? field : { type, ...field },
    ]),
  );
  const required = entries.filter(([, field]) => field['required'] === true).map(([name]) => name);
  return { type: 'object', properties, required };
}
