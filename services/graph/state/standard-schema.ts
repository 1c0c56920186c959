import { withoutUnusablePatterns } from '../schema/foreign.ts';
import { messageOf, textForModel } from './failure.ts';
import type { JsonSchema } from './schema.ts';

/**
 * A schema of a validation library, as zod, Valibot and ArkType give it: of Standard Schema and Standard JSON Schema
 * (https://standardschema.dev) the parts that are used here.
 */
export interface StandardSchema {
  readonly '~standard': {
    readonly version: 1;
    /** The name of the library. */
    readonly vendor: string;
    /** Checks a value and gives it as the schema transforms it. Absent: the schema describes values and cannot check them. */
    readonly validate?: (value: unknown) => StandardResult | Promise<StandardResult>;
    /** Writes the schema as JSON Schema: of the values that it takes, and of those that it gives. Absent: it cannot be written so. */
    readonly jsonSchema?: Readonly<Record<Side, (options: { readonly target: string }) => Record<string, unknown>>>;
    /** For the type checker alone. */
    readonly types?: Readonly<Record<Side, unknown>> | undefined;
  };
}

/** What a schema takes, and what it gives after its transformations. */
type Side = 'input' | 'output';

type StandardResult =
  { readonly value: unknown; readonly issues?: undefined } | { readonly issues: readonly StandardIssue[] };

interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
  /** Of zod: the pattern that a text does not match. */
  readonly pattern?: unknown;
  /** The same of Valibot. */
  readonly requirement?: unknown;
}

type TypesOf<S extends StandardSchema> = NonNullable<S['~standard']['types']>;

/** The type of the values that a schema gives. One that cannot check values gives them as it takes them. */
export type OutputOf<S extends StandardSchema> = S extends {
  readonly '~standard': { readonly validate: (value: never) => unknown };
}
  ? TypesOf<S>['output']
  : TypesOf<S>['input'];

/** Whether a value is a {@link StandardSchema}. The schemas of ArkType are functions. */
export const isStandardSchema = (value: unknown): value is StandardSchema =>
  ((typeof value === 'object' && value !== null) || typeof value === 'function') && '~standard' in value;

/** Whether a schema can check values, and so alone judges them. */
export const checks = (schema: StandardSchema): boolean => schema['~standard'].validate !== undefined;

/**
 * The schema as JSON Schema, without the patterns that only the library can match.
 * @throws Error saying why it cannot be written so, and then `instead`.
 */
export function toJsonSchema(schema: StandardSchema, side: Side, instead: string): JsonSchema {
  const { vendor, jsonSchema } = schema['~standard'];
  if (!jsonSchema) throw new Error(`a schema of ${vendor} cannot be written as JSON Schema; ${instead}`);
  try {
    return withoutUnusablePatterns(jsonSchema[side]({ target: 'draft-2020-12' }));
  } catch (cause) {
    throw new Error(`a schema of ${vendor} cannot be written as JSON Schema: ${messageOf(cause)}; ${instead}`, {
      cause,
    });
  }
}

/** The value that a schema gave, or why it refused. */
export type Checked = { readonly value: unknown; readonly fault?: undefined } | { readonly fault: string };

/** Checks a value and gives it as the schema transforms it. The text of a fault calls the value `name`. */
export async function checkValue(schema: StandardSchema, value: unknown, name: string): Promise<Checked> {
  const { validate } = schema['~standard'];
  // ArkType changes the value that it is given, and ours is frozen: the schema gets a copy.
  return validate ? toChecked(await validate(structuredClone(value)), name) : { value };
}

/** The same for a schema that need not wait. One that waits, or throws, gives a fault that says so. */
export function checkValueNow(schema: StandardSchema, value: unknown, name: string): Checked {
  const { vendor, validate } = schema['~standard'];
  if (!validate) return { value };
  try {
    const result = validate(structuredClone(value));
    if (!(result instanceof Promise)) return toChecked(result, name);
    result.catch(() => undefined);
    return { fault: `${name}: this schema of ${vendor} checks asynchronously, which is not possible here` };
  } catch (error) {
    return { fault: `${name}: ${textForModel(error)}` };
  }
}

function toChecked(result: StandardResult, name: string): Checked {
  if (!result.issues) return { value: result.value };
  return { fault: result.issues.map((issue) => toFault(issue, name)).join(', ') };
}

/** An issue of ArkType has its text as a getter of its class. */
const toFault = (issue: StandardIssue, name: string): string =>
  `${[name, ...(issue.path ?? []).map((step) => String(typeof step === 'object' ? step.key : step))].join('/')}: ${withoutPattern(issue)}`;

/** A pattern is of the author, and says little to who reads the fault. */
function withoutPattern({ message, pattern, requirement }: Omit<StandardIssue, 'path'>): string {
  const shown = requirement instanceof RegExp ? String(requirement) : pattern;
  const isShown = typeof shown === 'string' && shown !== '' && message.includes(shown);
  return isShown ? 'must match the pattern of its schema' : message;
}
