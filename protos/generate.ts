/**
 * Writes `<name>.ts` beside each `<name>.proto`: its messages as interfaces and its service as an object of async
 * functions and async iterables, comments included. `npm run proto` runs it; `generate.test.ts` holds the two together.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import protobuf from 'protobufjs';

const { parse, Enum, MapField, Service, Type } = protobuf;
type Field = protobuf.Field;
type Namespace = protobuf.Namespace;

const scalars: Readonly<Record<string, string>> = {
  string: 'string',
  bytes: 'Uint8Array',
  bool: 'boolean',
  int64: 'number',
  double: 'number',
};

/** The TypeScript text of one `.proto` of this folder, named without its ending. */
export function generate(name: string): string {
  const source = readFileSync(new URL(`./${name}.proto`, import.meta.url), 'utf8');
  const { root, package: packageName, imports = [] } = parse(source, { alternateCommentMode: true });
  const home = root.lookup(packageName ?? '') as Namespace;
  const body = home.nestedArray.map((node) => {
    if (node instanceof Service) return renderService(node);
    if (node instanceof Type) return renderType(node);
    throw new Error(`${name}.proto: cannot render ${node.fullName}${node instanceof Enum ? ', an enum' : ''}`);
  });
  const known = new Set(home.nestedArray.map((node) => node.name));
  const typeImports = imports.map((file) => {
    const used = [...new Set(source.match(/\b[a-z_]+(?:\.[a-z_0-9]+)+\.[A-Z]\w+/g) ?? [])]
      .map(shortName)
      .filter((type) => !known.has(type));
    return `import type { ${used.toSorted().join(', ')} } from './${file.replace('.proto', '.ts')}';\n`;
  });
  const header = `// Written by \`npm run proto\` from ${name}.proto: change that.\n`;
  return `${header}import type { Call } from './call.ts';\n${typeImports.join('')}\n${body.join('\n')}`;
}

function renderService(service: protobuf.Service): string {
  const methods = service.methodsArray.map((method) => {
    const reply = shortName(method.responseType);
    const result = method.responseStream ? `AsyncIterable<${reply}>` : `Promise<${reply}>`;
    const name = method.name.charAt(0).toLowerCase() + method.name.slice(1);
    return `${comment(method.comment, '  ')}  readonly ${name}: (request: ${shortName(method.requestType)}, call: Call) => ${result};\n`;
  });
  return `${comment(service.comment)}export interface ${service.name} {\n${methods.join('')}}\n`;
}

function renderType(type: protobuf.Type): string {
  if (type.fieldsArray.length === 0)
    return `${comment(type.comment)}export type ${type.name} = Readonly<Record<string, never>>;\n`;
  const fields = type.fieldsArray.map((field) => {
    const optional = field.partOf ? '?' : '';
    return `${comment(field.comment, '  ')}  readonly ${field.name}${optional}: ${typeOf(field)};\n`;
  });
  return `${comment(type.comment)}export interface ${type.name} {\n${fields.join('')}}\n`;
}

function typeOf(field: Field): string {
  const type = scalars[field.type] ?? shortName(field.type);
  if (field instanceof MapField) return `Readonly<Record<string, ${type}>>`;
  return field.repeated ? `readonly ${type}[]` : type;
}

const shortName = (name: string): string => name.slice(name.lastIndexOf('.') + 1);

function comment(text: string | null, indent = ''): string {
  if (text === null) return '';
  const lines = text.split('\n');
  if (lines.length === 1) return `${indent}/** ${text} */\n`;
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}`.trimEnd()).join('\n')}\n${indent} */\n`;
}

/** The contexts that speak over the wire. */
export const contexts = ['threads', 'execution', 'memory'] as const;

if (import.meta.main) {
  for (const name of contexts) writeFileSync(new URL(`./${name}.ts`, import.meta.url), generate(name));
}
