import { isServiceError } from '@agent-workflow/kit/errors';
import { requireJsonSchema } from '@agent-workflow/protos/json-schema';
import { compile, type Compiled } from '../schema/compile.ts';
import { isKnownVersion, knownVersions } from '../schema/versions.ts';
import { createKept } from './kept.ts';
import { partsOf } from './value-parts.ts';

export type JsonSchema = Readonly<Record<string, unknown>>;

/**
 * How many compiled schemas are kept, and how many bytes of their texts. Agents may be registered with any number of schemas, and MCP servers
 * send a new one with each question.
 */
const kept = createKept<JsonSchema, Compiled>({ count: 1000, bytes: 1024 * 1024 });

/** Compiles a schema; the result is kept for it, within bounds. @throws Error with the fault of the schema. */
export function compileSchema(schema: JsonSchema): Compiled {
  const known = kept.get(schema);
  if (known) return known;
  const { $schema } = schema;
  if ($schema !== undefined && !isKnownVersion($schema))
    throw new Error(`$schema names ${JSON.stringify($schema)}, which is none of ${knownVersions}`);
  requireSchema(schema);
  const compiled = compile(schema);
  kept.set(schema, compiled, Buffer.byteLength(JSON.stringify(schema)));
  return compiled;
}

function requireSchema(schema: JsonSchema): void {
  try {
    requireJsonSchema(schema, ['schema']);
  } catch (error) {
    throw isServiceError(error) ? new Error(error.message, { cause: error }) : error;
  }
}

/** The largest value whose faults are listed, in parts: each part may have several, and each is an object with a text. */
const listedParts = 256;
/** What a text of faults holds at most: faults, and characters. The names in a value may be long, and each fault repeats them. */
const [shownFaults, shownCharacters] = [16, 2000];

/**
 * Why a value breaks a schema; `undefined` when it matches. The text calls the value `name`. It has all faults of a small value, so that they
 * can be corrected together, and the first of a large one.
 */
export const schemaFault = (schema: JsonSchema, value: unknown, name: string): string | undefined =>
  faultWithin(compileSchema(schema), { value, name, steps: Infinity });

/**
 * As {@link schemaFault}, by a schema that others wrote: a value that takes too long is refused. A step takes some ten nanoseconds; a text needs
 * three for each character and pattern.
 */
export function foreignSchemaFault(schema: JsonSchema, value: unknown, name: string): string | undefined {
  const compiled = compileSchema(schema);
  if (busyMs > maxBusyMs) return tooComplex(name);
  if (busyMs === 0) setImmediate(() => (busyMs = 0));
  const start = performance.now();
  try {
    return faultWithin(compiled, { value, name, steps: 500_000 + 16 * JSON.stringify(value).length });
  } catch (error) {
    // The value is nested more deeply than JSON is written here.
    if (error instanceof RangeError) return tooComplex(name);
    throw error;
  } finally {
    busyMs += performance.now() - start;
  }
}

/**
 * How long such checks have taken since the event loop last turned, and may take, in milliseconds: an answer may hold a thousand calls, which are
 * checked one behind the other, and a loop that does not turn for ten seconds ends the process.
 */
let busyMs = 0;
const maxBusyMs = 2000;

interface Checked {
  readonly value: unknown;
  readonly name: string;
  readonly steps: number;
}

function faultWithin({ check }: Compiled, { value, name, steps }: Checked): string | undefined {
  const result = check(value, { steps, faults: 'none' });
  if (!result) return tooComplex(name);
  if (result.passes) return undefined;
  const listed = partsOf(value) <= listedParts ? check(value, { steps, faults: 'all' }) : undefined;
  const { faults } = listed ?? check(value, { steps, faults: 'first' }) ?? { faults: [] };
  if (faults.length === 0) return tooComplex(name);
  const text = faults
    .slice(0, shownFaults)
    .map((fault) => `${name}${fault.path} ${fault.text}`)
    .join(', ');
  return text.length <= shownCharacters ? text : `${text.slice(0, shownCharacters)} …`;
}

const tooComplex = (name: string): string => `${name} is too complex to check by its schema`;
