import { isServiceError } from '@agent-workflow/kit/errors';
import type { Call } from '@agent-workflow/protos/call';
import type { Execution } from '@agent-workflow/protos/execution';
import { jsonText } from '../../http/json.ts';

/** Field name to the JSON text of its default; fields without one are absent. */
export type FieldDefaults = Readonly<Record<string, string>>;

/** A graph changes only with a new release of the execution service. */
const keptMs = 10_000;

const kept = new WeakMap<Execution, { readonly until: number; readonly defaults: FieldDefaults }>();

/** The defaults of the graph's fields; none when there is no graph. */
export async function fieldDefaults(execution: Execution, call: Call): Promise<FieldDefaults> {
  const known = kept.get(execution);
  if (known && known.until > Date.now()) return known.defaults;
  const defaults = await readDefaults(execution, call);
  kept.set(execution, { until: Date.now() + keptMs, defaults });
  return defaults;
}

async function readDefaults(execution: Execution, call: Call): Promise<FieldDefaults> {
  try {
    const { fieldsJson } = await execution.getGraph({}, call);
    const fields = JSON.parse(jsonText(fieldsJson)) as Record<string, { readonly default?: unknown }>;
    const given = Object.entries(fields).filter(([, field]) => field.default !== undefined);
    return Object.fromEntries(given.map(([name, field]) => [name, JSON.stringify(field.default)]));
  } catch (error) {
    if (isServiceError(error, 'NotFound')) return {};
    throw error;
  }
}
