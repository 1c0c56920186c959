import { guardJson, refuseCostlyText } from '../../http/json-guard.ts';
import type { Loc } from '../../http/fields.ts';

/** The value of a JSON text in a request, within the bounds of the request itself; `undefined` for a text that is no JSON. @throws BadRequest */
export function jsonInText(json: string, loc: Loc): unknown {
  const where = 'the JSON in a text of the body';
  refuseCostlyText(json, where);
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return undefined;
  }
  guardJson(value, { where, loc });
  return value;
}
