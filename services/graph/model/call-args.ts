/**
 * The arguments of a tool call from the text that a model wrote. A text that is no JSON stays as it is: the schema of the tool refuses
 * it, the model gets the error, and may correct its call.
 */
export function readCallArgs(json: string): unknown {
  try {
    return JSON.parse(json === '' ? '{}' : json);
  } catch {
    return json;
  }
}
