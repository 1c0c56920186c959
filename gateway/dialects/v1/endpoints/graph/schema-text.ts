import { jsonObject, jsonText } from '../../../../http/json.ts';

/** The fields of a graph, also as one JSON Schema, as JSON text of a reply. */
export function schemaReply(fieldsJson: Uint8Array): string {
  const fields = jsonText(fieldsJson);
  const schema = toJsonSchema(JSON.parse(fields) as Fields);
  return `${jsonObject({ fields }).slice(0, -1)},${JSON.stringify(schema).slice(1)}`;
}

interface Field extends Readonly<Record<string, unknown>> {
  readonly type: string;
  readonly schema?: object;
}
type Fields = Readonly<Record<string, Field>>;

/** A field that takes any value has no type in JSON Schema. */
function toJsonSchema(fields: Fields): object {
  const entries = Object.entries(fields);
  const properties = Object.fromEntries(
    entries.map(([name, { required: _required, type, schema = {}, ...field }]) => [
      name,
      { ...(isMovable(schema) && schema), ...(type !== 'any' && { type }), ...field },
    ]),
  );
  const required = entries.filter(([, field]) => field['required'] === true).map(([name]) => name);
  return { type: 'object', properties, required };
}

/** A reference leads through the schema that it stands in, and would lead nowhere from inside another. */
const isMovable = (schema: object): boolean => !JSON.stringify(schema).includes('"$ref"');
