import { invalidAt, type Loc } from '../../../http/fields.ts';
import { isObject, type Fields } from '../messages/content.ts';
import { unsupported } from '../replies/refusal.ts';

/**
 * The schema of the answer that a `response_format`, or the `format` of a response, asks for; `undefined`: any text.
 * @throws Invalid naming what is no format
 */
export function outputSchemaOf(format: Fields | undefined, at: Loc): Fields | undefined {
  const { type } = format ?? { type: 'text' };
  if (type === 'text') return undefined;
  if (type === 'json_object') return { type: 'object' };
  if (type !== 'json_schema') throw unsupported([...at, 'type'], 'must be one of text, json_object, json_schema');
  const { schema } = isObject(format?.['json_schema']) ? format['json_schema'] : (format ?? {});
  if (!isObject(schema)) throw invalidAt(['body', ...at, 'json_schema', 'schema'], 'is required', 'missing');
  return schema;
}
