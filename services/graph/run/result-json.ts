import { RunFailure } from '../state/failure.ts';
import { lostPlace, whyNoJson } from '../state/json-value.ts';
import type { NodeOutput } from '../state/merge.ts';

/**
 * What a node returned as JSON, for a store.
 * @throws RunFailure naming the node and the place of what JSON does not have.
 */
export function resultJson(result: { readonly outputs: readonly NodeOutput[] }, node: string): string {
  let json: string;
  try {
    json = JSON.stringify(result);
  } catch (cause) {
    const update = Object.fromEntries(result.outputs.flatMap(({ fields }) => Object.entries(fields)));
    const why = whyNoJson(cause, update, 'update');
    throw new RunFailure('NodeFailed', `node "${node}" returned a value that ${why}`, { node, cause });
  }
  for (const { fields } of result.outputs) {
    const lost = lostPlace(fields, json, 'update');
    if (lost !== undefined) throw new RunFailure('NodeFailed', `node "${node}" returned ${lost}`, { node });
  }
  return json;
}
