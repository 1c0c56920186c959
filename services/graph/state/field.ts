import { nameOf } from './name-of.ts';
import { requireObject, refuseUnknown } from './refuse-unknown.ts';
import { schemaFault, type JsonSchema } from './schema.ts';
import {
  checkValueNow,
  isStandardSchema,
  toJsonSchema,
  type OutputOf,
  type StandardSchema,
} from './standard-schema.ts';

/** JSON type names that a field may have. */
export const fieldTypes = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'any'] as const;
export type FieldType = (typeof fieldTypes)[number];

/** The type of a state field, its default, and how an update changes it. */
export interface FieldSpec<T> {
  readonly type: FieldType;
  readonly description?: string;
  /** A JSON Schema that the value must match beside its type; `$schema` names its version. */
  readonly schema?: JsonSchema;
  /** Checks what `schema` cannot say. */
  readonly check?: StandardSchema;
  readonly default?: T;
  readonly required?: boolean;
  /** What callers may do with it: `read` and change it, unless it is `'read'`. Nodes write it in any case. */
  readonly callers?: 'read';
  /** Makes the new value from the current value and an update. Without a reducer an update replaces the value. Must be pure. */
  readonly reducer?: (current: T, update: T) => T;
}

/** A field whose values are those that a schema of a validation library gives. */
interface StandardFieldSpec<S extends StandardSchema> extends Omit<
  FieldSpec<OutputOf<S>>,
  'type' | 'schema' | 'check'
> {
  readonly schema: S;
  /** That of the schema unless given; `any` where it has several. */
  readonly type?: FieldType;
}

declare const value: unique symbol;

/** A declared field; `T`, what nodes read, exists for the type checker alone. */
export interface Field<T> {
  readonly spec: FieldSpec<unknown>;
  readonly [value]?: T;
}

/**
 * A field of a schema that implements Standard Schema, as one of zod. The schema checks values and does not change them: it must take
 * what it gives, and need not wait.
 * @throws Error when it is given no object, the schema cannot be written as JSON Schema, a member is unknown, or the reducer is no function.
 */
export function field<S extends StandardSchema>(
  spec: StandardFieldSpec<S> & { readonly default: OutputOf<S> },
): Field<OutputOf<S>>;
export function field<S extends StandardSchema>(spec: StandardFieldSpec<S>): Field<OutputOf<S> | undefined>;
/** A field that is never absent, because it has a default. */
export function field<T>(spec: FieldSpec<T> & { readonly default: T }): Field<T>;
/** A field that may be undefined when a node reads it. */
export function field<T>(spec: FieldSpec<T>): Field<T | undefined>;
export function field(spec: unknown): Field<never> {
  requireObject('what field is given', spec);
  refuseUnknown('what field is given', '', spec, specNames);
  // The reducer is called with values of this field only.
  const read = readStandard(spec as FieldSpec<unknown>);
  requireValidReducer(read);
  requireValidCallers(read);
  requireValidCheck(read);
  return { spec: read };
}

const specNames: Readonly<Record<keyof FieldSpec<unknown>, true>> = {
  type: true,
  description: true,
  schema: true,
  check: true,
  default: true,
  required: true,
  callers: true,
  reducer: true,
};

function requireValidReducer({ reducer }: { readonly reducer?: unknown }): void {
  if (reducer === undefined || typeof reducer === 'function') return;
  throw new Error(`the reducer of a field must be a function, not ${nameOf(reducer)}`);
}

function requireValidCallers({ callers }: { readonly callers?: unknown }): void {
  if (callers === undefined || callers === 'read') return;
  const given = typeof callers === 'string' ? `"${callers.slice(0, 32)}"` : nameOf(callers);
  throw new Error(`callers of a field must be "read" or absent, not ${given}`);
}

function requireValidCheck({ check }: { readonly check?: unknown }): void {
  if (check === undefined || isStandardSchema(check)) return;
  throw new Error(`the check of a field must be a schema of a validation library, as zod, not ${nameOf(check)}`);
}

function readStandard(spec: FieldSpec<unknown>): FieldSpec<unknown> {
  const { schema: check } = spec;
  if (!isStandardSchema(check)) return spec;
  const schema = toJsonSchema(check, 'output', 'give it as "check", and the same as JSON Schema as "schema"');
  const { type = fieldTypes.find((name) => name === schema['type']) ?? 'any' } = spec as Partial<typeof spec>;
  return { ...spec, type, schema, check };
}

export type Fields = Readonly<Record<string, Field<unknown>>>;

/** Why a value does not fit a field; `undefined` when it fits. */
export function misfit(
  { type, schema, check }: Pick<FieldSpec<unknown>, 'type' | 'schema' | 'check'>,
  value: unknown,
): string | undefined {
  if (fits(type, value)) {
    const fault = schema && schemaFault(schema, value, 'value');
    return fault ?? (check && checkValueNow(check, value, 'value').fault);
  }
  return `must be ${type === 'any' ? 'JSON' : `${article(type)} ${type}`}, not ${nameOf(value)}`;
}

function fits(type: FieldType, value: unknown): boolean {
  switch (type) {
    case 'any':
      return value !== undefined && !(typeof value === 'number' && !Number.isFinite(value));
    case 'array':
      return Array.isArray(value);
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value);
    case 'integer':
      return Number.isSafeInteger(value);
    case 'number':
      return Number.isFinite(value);
    default:
      return typeof value === type;
  }
}

const article = (type: string): string => (/^[aeio]/.test(type) ? 'an' : 'a');
