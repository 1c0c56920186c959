import type { JsonObject, Run } from '@agent-workflow/client';

/** How many of some runs have ended, and how many of these failed. */
export function failedShare(runs: readonly Pick<Run, 'status'>[]): { readonly ended: number; readonly failed: number } {
  const ended = runs.filter(({ status }) => !['queued', 'running', 'sleeping', 'scheduled'].includes(status));
  return { ended: ended.length, failed: ended.filter(({ status }) => status === 'failed').length };
}

/** A field of the state of an agent's threads. */
interface StateField {
  readonly name: string;
  readonly type: string;
  readonly description: string;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const textOr = (value: unknown, other: string): string => (typeof value === 'string' ? value : other);

/** The fields of a state schema, as `GET /v1/agents/{name}` has it: under `fields` or beside each other. */
export function fieldsOf(schema: JsonObject): readonly StateField[] {
  const fields = isObject(schema['fields']) ? schema['fields'] : schema;
  return Object.entries(fields).flatMap(([name, field]) =>
    isObject(field)
      ? [{ name, type: textOr(field['type'], 'any'), description: textOr(field['description'], '') }]
      : [],
  );
}
