import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
type Node = Readonly<Record<string, Json>>;

interface Kind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

interface Definition {
  readonly spec: {
    readonly group: string;
    readonly names: { readonly kind: string };
    readonly versions: readonly { readonly name: string; readonly schema: { readonly openAPIV3Schema: Node } }[];
  };
}

/**
 * Writes a JSON Schema for each kind, under the name that kubeconform looks for it: those of Kubernetes from its API description,
 * those of its extensions from their definitions. What a kind does not have is refused.
 */
export async function writeKubeSchemas(apis: string, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const write = async (kind: Kind, schema: Node): Promise<void> =>
    writeFile(join(folder, fileOf(kind)), JSON.stringify(withKind(schema, kind)));
  const { definitions } = JSON.parse(await readFile(join(apis, 'swagger.json'), 'utf8')) as {
    readonly definitions: Readonly<Record<string, Node>>;
  };
  for (const [name, definition] of Object.entries(definitions)) {
    // What stands for any kind is no kind.
    if (name.includes('apimachinery')) continue;
    for (const kind of (definition['x-kubernetes-group-version-kind'] ?? []) as unknown as readonly Kind[])
      await write(kind, { ...(closed(definition) as Node), definitions: reached(definitions, definition) });
  }
  for (const { spec } of await readDefinitions(join(apis, 'crds'))) {
    for (const { name, schema } of spec.versions)
      await write({ group: spec.group, version: name, kind: spec.names.kind }, closed(schema.openAPIV3Schema) as Node);
  }
}

async function readDefinitions(folder: string): Promise<readonly Definition[]> {
  const files = (await readdir(folder)).map((name) => join(folder, name));
  const texts = await Promise.all(files.map(async (file) => readFile(file, 'utf8')));
  return texts
    .flatMap((text) => parseAllDocuments(text).map((document) => document.toJS() as { readonly kind: string } | null))
    .filter((found) => found?.kind === 'CustomResourceDefinition') as unknown as Definition[];
}

const fileOf = ({ group, version, kind }: Kind): string =>
  `${[kind, group.split('.')[0], version]
    .filter((part) => part !== '')
    .join('-')
    .toLowerCase()}.json`;

const withKind = (schema: Node, { group, version, kind }: Kind): Node => ({
  ...schema,
  required: ['apiVersion', 'kind', 'metadata'],
  properties: {
    metadata: { type: 'object' },
    ...(schema['properties'] as Node | undefined),
    kind: { enum: [kind] },
    apiVersion: { enum: [group === '' ? version : `${group}/${version}`] },
  },
});

/** The definitions that one refers to, those that these refer to, and so on. */
function reached(definitions: Readonly<Record<string, Node>>, from: Node): Node {
  const found: Record<string, Json> = {};
  const waiting = references(from);
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (name in found) continue;
    const definition = definitions[name] as Node;
    found[name] = closed(definition);
    waiting.push(...references(definition));
  }
  return found;
}

const references = (node: Json): string[] =>
  [...JSON.stringify(node).matchAll(/"\$ref":"#\/definitions\/([^"]+)"/g)].map(([, name = '']) => name);

/** An API's schema as JSON Schema: without unknown properties, with `null` for absent ones, and with quantities as they are written. */
function closed(node: Json): Json {
  if (Array.isArray(node)) return (node as readonly Json[]).map(closed);
  if (typeof node !== 'object' || node === null) return node;
  const given = node as Node;
  const reference = typeof given['$ref'] === 'string' ? given['$ref'] : '';
  if (reference.endsWith('.IntOrString')) return { type: ['string', 'integer'] };
  if (reference.endsWith('.Quantity')) return { type: ['string', 'number'] };
  if (reference !== '') return { $ref: reference };
  if (given['x-kubernetes-int-or-string'] === true) return { type: ['string', 'integer', 'number'] };
  const kept = Object.entries(given).filter(([key]) => !key.startsWith('x-') && !ignored.has(key));
  const schema = Object.fromEntries(
    kept.map(([key, value]) => [key, key === 'properties' ? nullables(value as Node) : closed(value)]),
  );
  const isOpen = given['x-kubernetes-preserve-unknown-fields'] === true || given['additionalProperties'] !== undefined;
  return given['properties'] !== undefined && !isOpen ? { ...schema, additionalProperties: false } : schema;
}

/** What says nothing of validity, or is no JSON Schema. */
const ignored = new Set(['description', 'default', 'format', 'example']);

const nullables = (properties: Node): Node =>
  Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, { anyOf: [closed(schema), { type: 'null' }] }]),
  );
