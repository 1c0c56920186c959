import { jsonObject, jsonText } from '../replies/json.ts';
import type { Ask, Services } from './endpoint.ts';

/** The graph: nodes, edges and a drawing. */
export async function getGraph(ask: Ask, { execution }: Services): Promise<string> {
  const { graphJson } = await execution.getGraph({}, ask.call());
  return jsonObject({ graph: jsonText(graphJson) });
}

/** The fields of the graph's state. */
export async function getStateSchema(ask: Ask, { execution }: Services): Promise<string> {
  const { fieldsJson } = await execution.getGraph({}, ask.call());
  return jsonObject({ fields: jsonText(fieldsJson) });
}
