import { schemaFault, type JsonSchema } from './schema.ts';

/** JSON type names that a field may have. */
export const fieldTypes = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'any'] as const;
export type FieldType = (typeof fieldTypes)[number];

/** The type of a state field, its default, and how an update changes it. */
export interface FieldSpec<T> {
  readonly type: FieldType;
  readonly description?: string;
  /** A JSON Schema that the value must match beside its type; `$schema` names its version. */
  readonly schema?: JsonSchema;
  readonly default?: T;
  readonly required?: boolean;
  /** Makes the new value from the current value and an update. Without a reducer an update replaces the value. Must be pure. */
  readonly reducer?: (current: T, update: T) => T;
}

declare const value: unique symbol;

/** A declared field; `T`, what nodes read, exists for the type checker alone. */
export interface Field<T> {
  readonly spec: FieldSpec<unknown>;
  readonly [value]?: T;
}

/** A field that is never absent, because it has a default. */
export function field<T>(spec: FieldSpec<T> & { readonly default: T }): Field<T>;
/** A field that may be undefined when a node reads it. */
export function field<T>(spec: FieldSpec<T>): Field<T | undefined>;
export function field<T>(spec: FieldSpec<T>): Field<T> {
  // The reducer is called with values of this field only.
  return { spec: spec as unknown as FieldSpec<unknown> };
}

export type Fields = Readonly<Record<string, Field<unknown>>>;

/** Why a value does not fit a field; `undefined` when it fits. */
export function misfit(
  { type, schema }: Pick<FieldSpec<unknown>, 'type' | 'schema'>,
  value: unknown,
): string | undefined {
  if (fits(type, value)) return schema && schemaFault(schema, value, 'value');
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

function nameOf(value: unknown): string {
  if (value === null) return 'null';
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value);
  return Array.isArray(value) ? 'array' : typeof value;
}
