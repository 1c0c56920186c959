import { agentNamePattern, mustBeAgentName } from '@agent-workflow/kit/agents';
import { idRule } from '@agent-workflow/protos/message';
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import type { TSchema } from 'typebox';
import { invalidAt, type LocatedDetail } from './fields.ts';

const ajv = new Ajv2020({
  useDefaults: true,
  // A test holds the schemas against the schema of schemas, so that no caller waits 50 ms for its compilation.
  validateSchema: false,
  allowUnionTypes: true,
  strictTypes: false,
  formats: { 'date-time': true, 'well-formed': (text: string) => text.isWellFormed() },
});

/** The part of the request that a value comes from: the first element of every `loc`. */
export type Source = 'path' | 'query' | 'body';

/**
 * Makes a check of values against a schema, which also fills in defaults. The first call compiles the schema. `sourceOf` gives
 * the source of a top-level field.
 * @throws Invalid with the location of the first fault.
 */
export function validator(schema: TSchema): (value: unknown, sourceOf: (field: string | undefined) => Source) => void {
  let validate: ReturnType<typeof ajv.compile> | undefined;
  return (value, sourceOf) => {
    validate ??= ajv.compile(schema);
    if (validate(value)) return;
    const detail = detailOf(deepestError(validate.errors ?? []), sourceOf);
    throw invalidAt(detail.loc, detail.msg, detail.type);
  };
}

/** Of the errors of alternatives, the deepest one is about the alternative that the caller meant. */
const deepestError = (errors: readonly ErrorObject[]): ErrorObject | undefined =>
  errors.reduce<ErrorObject | undefined>(
    (best, error) => (best === undefined || error.instancePath.length > best.instancePath.length ? error : best),
    undefined,
  );

function detailOf(
  error: ErrorObject | undefined,
  sourceOf: (field: string | undefined) => Source,
): Omit<LocatedDetail, 'field'> {
  const steps = error ? [...pointer(error.instancePath), ...missing(error)] : [];
  const [first] = steps;
  return {
    loc: [sourceOf(typeof first === 'string' ? first : undefined), ...steps],
    msg: error ? messageOf(error) : 'is not valid',
    type: error ? typeOf(error) : 'value_error',
  };
}

/** A JSON pointer as steps, those into arrays as numbers. */
const pointer = (path: string): (string | number)[] =>
  path
    .split('/')
    .slice(1)
    .map((step) => (/^\d+$/.test(step) ? Number(step) : step.replaceAll('~1', '/').replaceAll('~0', '~')));

const missing = ({ params }: ErrorObject): string[] =>
  typeof params['missingProperty'] === 'string' ? [params['missingProperty']] : [];

function messageOf({ keyword, params, message = 'is not valid' }: ErrorObject): string {
  if (keyword === 'required') return 'is required';
  if (keyword === 'enum') return `must be one of ${(params['allowedValues'] as unknown[]).join(', ')}`;
  if (keyword === 'type') return `must be ${[params['type']].flat().join(' or ')}`;
  if (keyword === 'format') return 'must be well-formed Unicode';
  if (keyword === 'pattern') return params['pattern'] === agentNamePattern ? mustBeAgentName : idRule;
  return message;
}

function typeOf({ keyword, params }: ErrorObject): string {
  if (keyword === 'type') return `${[params['type']].flat().join('_or_')}_type`;
  return types[keyword] ?? keyword;
}

const types: Readonly<Record<string, string>> = {
  required: 'missing',
  minimum: 'greater_than_equal',
  maximum: 'less_than_equal',
  minItems: 'too_short',
  maxItems: 'too_long',
  minLength: 'string_too_short',
  maxLength: 'string_too_long',
  pattern: 'string_pattern_mismatch',
};
