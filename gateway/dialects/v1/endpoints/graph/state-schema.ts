import { GraphQuery, StateSchema } from '../../schemas/graph.ts';
import { endpoint } from '../common/endpoint.ts';
import { schemaReply } from './schema-text.ts';
import * as examples from './examples.ts';

/** The fields of the graph's state; also as one JSON Schema. */
export const getStateSchema = endpoint({
  name: 'getStateSchema',
  tag: 'graph',
  summary: 'Get the fields of the state',
  description:
    'Each field of the state of a thread with its type, default, description and the JSON Schema of its values, also as one JSON Schema. 404 when there is no such agent.',
  example: examples.getStateSchema,
  method: 'GET',
  path: '/v1/graph:StateSchema',
  isOfAgent: true,
  access: { resource: 'graph', action: 'read' },
  input: GraphQuery,
  reply: StateSchema,
  handle: async ({ input, call }, { execution }) => schemaReply((await execution.getGraph(input, call())).fieldsJson),
});
