import { Ajv, type Options, type ValidateFunction } from 'ajv';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { default as formats } from 'ajv-formats';
import { isUsualSchema } from './usual-schema.ts';

export type JsonSchema = Readonly<Record<string, unknown>>;

type Compiler = Ajv | Ajv2019 | Ajv2020;

// Unknown keywords are ignored, as the standard requires: schemas come from many authors and libraries.
const options: Options = { strict: false, allErrors: true, ownProperties: true, addUsedSchema: false, logger: false };

const compilers: Readonly<Record<string, () => Compiler>> = {
  'http://json-schema.org/draft-07/schema': () => new Ajv(options),
  'https://json-schema.org/draft/2019-09/schema': () => new Ajv2019(options),
  'https://json-schema.org/draft/2020-12/schema': () => new Ajv2020(options),
};

const made = new Map<string, Compiler>();
const validators = new WeakMap<JsonSchema, ValidateFunction>();

/** The compiler for the version of JSON Schema that a schema names with `$schema`; 2020-12 when it names none. */
function compilerFor({ $schema = 'https://json-schema.org/draft/2020-12/schema' }: JsonSchema): Compiler {
  const named = String($schema);
  const version = named.endsWith('#') ? named.slice(0, -1) : named;
  const known = made.get(version);
  if (known) return known;
  const make = Object.hasOwn(compilers, version) ? compilers[version] : undefined;
  if (!make) throw new Error(`$schema names "${named}", which is none of ${Object.keys(compilers).join(', ')}`);
  const ajv = make();
  formats.default(ajv);
  // The pattern of ajv-formats takes more than the square of the text's length: 4 KB of colons take seconds.
  ajv.addFormat('url', isUrl);
  made.set(version, ajv);
  return ajv;
}

const isUrl = (text: string): boolean => /^(?:https?|ftp):\/\/\S+$/i.test(text) && URL.canParse(text);

/** Compiles a schema; the result is kept with the schema. @throws Error with the fault of the schema. */
export function compileSchema(schema: JsonSchema): ValidateFunction {
  let validate = validators.get(schema);
  if (!validate) {
    const compiler = compilerFor(schema);
    compiler.opts.validateSchema = !isUsualSchema(schema);
    validate = compiler.compile(schema);
    validators.set(schema, validate);
  }
  return validate;
}

/** Why a value breaks a schema; `undefined` when it matches. The text calls the value `name`. */
export function schemaFault(schema: JsonSchema, value: unknown, name: string): string | undefined {
  const validate = compileSchema(schema);
  return validate(value) ? undefined : compilerFor(schema).errorsText(validate.errors, { dataVar: name });
}
