import { Ajv, type ErrorObject, type Options, type ValidateFunction } from 'ajv';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { default as formats } from 'ajv-formats';
import { createKept } from './kept.ts';
import { isUsualSchema } from './usual-schema.ts';
import { partsOf } from './value-parts.ts';

export type JsonSchema = Readonly<Record<string, unknown>>;

type Compiler = Ajv | Ajv2019 | Ajv2020;

/** Whether a check ends at the first fault of a value, or goes on and lists all of them. */
type Faults = 'first' | 'all';

// Unknown keywords are ignored, as the standard requires: schemas come from many authors and libraries.
const options: Options = { strict: false, ownProperties: true, addUsedSchema: false, logger: false };

const compilers: Readonly<Record<string, (faults: Options) => Compiler>> = {
  'http://json-schema.org/draft-07/schema': (faults) => new Ajv({ ...options, ...faults }),
  'https://json-schema.org/draft/2019-09/schema': (faults) => new Ajv2019({ ...options, ...faults }),
  'https://json-schema.org/draft/2020-12/schema': (faults) => new Ajv2020({ ...options, ...faults }),
};

/**
 * How many compiled schemas are kept for each way of checking, and how many bytes of their texts. Agents may be registered with any number of schemas, and
 * MCP servers send a new one with each question. A compiled schema takes about fifty times as much memory as its text.
 */
const bounds = { count: 1000, bytes: 1024 * 1024 };
const validators = {
  first: createKept<JsonSchema, ValidateFunction>(bounds),
  all: createKept<JsonSchema, ValidateFunction>(bounds),
};

/** The version of JSON Schema that a schema names with `$schema`; 2020-12 when it names none. */
function versionOf({ $schema = 'https://json-schema.org/draft/2020-12/schema' }: JsonSchema): string {
  const named = String($schema);
  const version = named.endsWith('#') ? named.slice(0, -1) : named;
  if (Object.hasOwn(compilers, version)) return version;
  throw new Error(`$schema names "${named}", which is none of ${Object.keys(compilers).join(', ')}`);
}

/** A compiler keeps all that it has compiled, so each schema gets a compiler of its own, which takes a millisecond and 25 KB. */
function createCompiler(version: string, faults: Options): Compiler {
  const ajv = (compilers[version] as (faults: Options) => Compiler)(faults);
  formats.default(ajv);
  // The pattern of ajv-formats takes more than the square of the text's length: 4 KB of colons take seconds.
  ajv.addFormat('url', isUrl);
  return ajv;
}

/** Compilers that only check whether a schema is one, by version. */
const checkers = new Map<string, Compiler>();

function checkerFor(schema: JsonSchema): Compiler {
  const version = versionOf(schema);
  const checker = checkers.get(version) ?? createCompiler(version, {});
  checkers.set(version, checker);
  return checker;
}

const isUrl = (text: string): boolean => /^(?:https?|ftp):\/\/\S+$/i.test(text) && URL.canParse(text);

/** Compiles a schema; the result is kept for it, within bounds. @throws Error with the fault of the schema. */
export function compileSchema(schema: JsonSchema, faults: Faults = 'first'): ValidateFunction {
  let validate = validators[faults].get(schema);
  if (!validate) {
    const compiler = createCompiler(versionOf(schema), { allErrors: faults === 'all', validateSchema: false });
    if (!isUsualSchema(schema)) void checkerFor(schema).validateSchema(schema, true);
    validate = compiler.compile(schema);
    validators[faults].set(schema, validate, Buffer.byteLength(JSON.stringify(schema)));
  }
  return validate;
}

/** The largest value whose faults are listed, in parts: each part may have several, and each is an object with a text. */
const listedParts = 256;
/** What a text of faults holds at most: faults, and characters. The names in a value may be long, and each fault repeats them. */
const [shownFaults, shownCharacters] = [16, 2000];

/**
 * Why a value breaks a schema; `undefined` when it matches. The text calls the value `name`. It has all faults of a small value, so that they
 * can be corrected together, and the first of a large one.
 */
export function schemaFault(schema: JsonSchema, value: unknown, name: string): string | undefined {
  let validate = compileSchema(schema);
  if (validate(value)) return undefined;
  if (partsOf(value) <= listedParts) {
    validate = compileSchema(schema, 'all');
    validate(value);
  }
  const faults = (validate.errors ?? []).slice(0, shownFaults).map(withoutPattern);
  const text = checkerFor(schema).errorsText(faults, { dataVar: name });
  return text.length <= shownCharacters ? text : `${text.slice(0, shownCharacters)} …`;
}

/** A pattern is of the author, and says little to who reads the fault. */
const withoutPattern = (fault: ErrorObject): ErrorObject =>
  fault.keyword === 'pattern' ? { ...fault, message: 'must match the pattern of its schema' } : fault;
