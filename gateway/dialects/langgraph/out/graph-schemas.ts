import { fieldSchema } from '../../common/field-schema.ts';

type JsonObject = Readonly<Record<string, unknown>>;

const messages = {
  title: 'Messages',
  type: 'array',
  items: {
    type: 'object',
    properties: {
      type: { type: 'string', enum: ['human', 'ai', 'system', 'tool'] },
      content: { anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'object' } }] },
      id: { type: 'string' },
    },
    required: ['type', 'content'],
  },
};

const objectOf = (title: string, properties: JsonObject): JsonObject => ({ title, type: 'object', properties });

/** The JSON Schemas that a graph was made with. */
export interface GraphSchemas {
  readonly input?: object;
  readonly output?: object;
  readonly state?: object;
  readonly config?: object;
}

interface Graph {
  readonly schemas?: GraphSchemas | undefined;
  /** The fields of its input and of its output; absent: all. */
  readonly input?: readonly string[];
  readonly output?: readonly string[];
}

/**
 * The schemas of a graph: its own, as far as it has them. Else its state is what goes in and what comes out, with the conversation as
 * `messages`.
 */
export function toGraphSchemas(
  agent: string,
  fields: Readonly<Record<string, JsonObject>>,
  { schemas: { input, output, state, config } = {}, ...narrowed }: Graph = {},
): object {
  const { context: _, ...own } = fields;
  const properties = {
    messages,
    ...Object.fromEntries(Object.entries(own).map(([name, field]) => [name, fieldSchema(field)])),
  };
  const some = (names: readonly string[] = Object.keys(properties)): JsonObject =>
    Object.fromEntries(Object.entries(properties).filter(([name]) => names.includes(name)));
  return {
    graph_id: agent,
    input_schema: input ?? objectOf('Input', some(narrowed.input)),
    output_schema: output ?? objectOf('Output', some(narrowed.output)),
    state_schema: state ?? objectOf('State', properties),
    config_schema: config ?? objectOf('Configurable', {}),
    context_schema: config ?? objectOf('Context', {}),
  };
}
