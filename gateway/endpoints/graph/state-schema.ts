import { jsonObject, jsonText } from '../../http/json.ts';
import { StateSchema } from '../../schemas/graph.ts';
import { endpoint } from '../common/services.ts';
import * as examples from './examples.ts';

/** The fields of the graph's state; also as one JSON Schema. */
export const getStateSchema = endpoint({
  name: 'getStateSchema',
  tag: 'graph',
  summary: 'Get the fields of the state',
  description:
    'Each field of the state of a thread with its type, default and description, also as one JSON Schema. 404 when the service has no agent.',
  example: examples.getStateSchema,
  method: 'GET',
  path: '/v1/graph:StateSchema',
  access: { resource: 'graph', action: 'read' },
  reply: StateSchema,
  handle: async ({ call }, { execution }) => {
    const { fieldsJson } = await execution.getGraph({}, call());
    const fields = jsonText(fieldsJson);
    const schema = toJsonSchema(JSON.parse(fields) as Fields);
    return `${jsonObject({ fields }).slice(0, -1)},${JSON.stringify(schema).slice(1)}`;
  },
});

type Fields = Readonly<Record<string, Readonly<Record<string, unknown>> & { readonly type: string }>>;

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
