import protobuf from 'protobufjs';
import { lists, type ListName } from './lists.ts';
import { poolRules, type PoolRule } from './pools.ts';
import { retries, type RetryRule } from './retry.ts';

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

/**
 * The TypeScript text of a `.proto`, from its name without the ending and its text: each message as an interface, the service as an
 * object of async functions and async iterables, with an interface for each part, all with their comments, and three tables. They say
 * of each RPC whether a call may be repeated, and what a pool may call of it; the third names the fields of each message whose values
 * are of a closed list.
 * @throws Error naming the RPC whose comment does not end with its marks, or the field whose comment names an unknown list.
 */
export function toTypeScript(name: string, source: string): string {
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
  const types = home.nestedArray.filter((node) => node instanceof Type);
  const used = new Set(types.flatMap(({ fieldsArray }) => fieldsArray.flatMap((field) => listOf(field) ?? [])));
  const imported = [
    `import type { Call } from './call.ts';\n`,
    `import type { ${['MessageLists', ...used].toSorted().join(', ')} } from './lists.ts';\n`,
    `import type { PoolRule } from './pools.ts';\n`,
    `import type { RetryRule } from './retry.ts';\n`,
    ...typeImports,
  ];
  return `${header}${imported.join('')}\n${body.join('\n')}\n${renderLists(name, types)}`;
}

function renderLists(name: string, types: readonly protobuf.Type[]): string {
  const holders = holdersOf(types);
  const entries = types.flatMap((type) => {
    if (!holders.has(type.name)) return [];
    const fields = type.fieldsArray.flatMap((field) => {
      const [list, messageType] = [listOf(field), shortName(field.type)];
      if (list !== undefined) return [`${field.name}: '${list}'`];
      return holders.has(messageType) ? [`${field.name}: { of: '${messageType}' }`] : [];
    });
    return [`  ${type.name}: { ${fields.join(', ')} },\n`];
  });
  return `/** The messages that have fields of a closed list. */
export const ${name}Lists: MessageLists = {\n${entries.join('')}};\n`;
}

/** Names of the messages with a field of a closed list, in themselves or in a message that they hold. Messages may hold each other. */
function holdersOf(types: readonly protobuf.Type[]): ReadonlySet<string> {
  const holders = new Set<string>();
  let before = -1;
  while (holders.size > before) {
    before = holders.size;
    for (const { name, fieldsArray: fields } of types)
      if (fields.some((field) => listOf(field) !== undefined || holders.has(shortName(field.type)))) holders.add(name);
  }
  return holders;
}

const listPattern = /^list: (\w+)$/;

/** The list that the last line of a field's comment names. */
function listOf({ fullName, type, comment: whole }: Field): ListName | undefined {
  const [, name] = listPattern.exec(whole?.split('\n').at(-1) ?? '') ?? [];
  if (name === undefined) return undefined;
  if (type !== 'string') throw new Error(`${fullName}: only a string can be of a list`);
  if (!Object.hasOwn(lists, name)) throw new Error(`${fullName}: there is no list "${name}" in lists.ts`);
  return name as ListName;
}

/** Whether a list need not be given: its comment ends in `May be absent.`. The wire has no other sign for it, and a reader gets it empty. */
const mayBeAbsent = ({ comment: text, repeated }: Field): boolean =>
  repeated && text?.endsWith('May be absent.') === true;

/** A field's comment without the line that names its list. */
const textOf = (field: Field): string | null => {
  if (listOf(field) === undefined) return field.comment;
  const lines = field.comment?.split('\n').slice(0, -1) ?? [];
  return lines.length === 0 ? null : lines.join('\n');
};

/** An interface for each part of the service, and one of all its methods. */
function renderService(service: protobuf.Service): string {
  const { name, methodsArray: methods } = service;
  const parts = Map.groupBy(methods, (method) => readMark(method).part);
  const outside = parts.get(undefined) ?? [];
  const named = [...parts.keys()].filter((part) => part !== undefined);
  const [first] = outside;
  if (first && named.length > 0)
    throw new Error(`${first.fullName}: a line \`// part: \` must name the part of ${name} that it belongs to`);
  const interfaces = named.map(
    (part) =>
      `${comment(`A part of {@link ${name}}.`)}export interface ${part} {\n${renderMethods(parts.get(part) ?? [])}}\n\n`,
  );
  const bases = named.length === 0 ? '' : ` extends ${named.join(', ')}`;
  const whole = `${comment(service.comment)}export interface ${name}${bases} {\n${renderMethods(outside)}}\n`;
  return `${interfaces.join('')}${whole}\n${renderRules(service)}`;
}

const renderMethods = (methods: readonly protobuf.Method[]): string =>
  methods
    .map((method) => {
      const reply = shortName(method.responseType);
      const result = method.responseStream ? `AsyncIterable<${reply}>` : `Promise<${reply}>`;
      return `${comment(readMark(method).text, '  ')}  readonly ${methodName(method)}: (request: ${shortName(method.requestType)}, call: Call) => ${result};\n`;
    })
    .join('');

function renderRules(service: protobuf.Service): string {
  const rules = service.methodsArray.map((method) => {
    const { retry, takesLong } = readMark(method).rule;
    if (retry === 'attempt' && !hasAttemptId(method))
      throw new Error(`${method.fullName}: retry: attempt needs a field \`optional string attempt_id\` in its request`);
    return `  ${methodName(method)}: { retry: '${retry}', takesLong: ${String(takesLong)} },\n`;
  });
  const name = `${service.name.charAt(0).toLowerCase()}${service.name.slice(1)}`;
  return `/** Which calls of {@link ${service.name}} may be made again. */
export const ${name}Retries: Readonly<Record<keyof ${service.name}, RetryRule>> = {\n${rules.join('')}};

/** What a pool of workers may call of {@link ${service.name}}. */
export const ${name}Pools: Readonly<Record<keyof ${service.name}, PoolRule>> = {\n${poolEntries(service).join('')}};\n`;
}

/** The field of a request that a rule is about. */
const fieldOfRule = { agent: 'agent', run: 'owner', 'run, also expired': 'owner' } as const;

const poolEntries = (service: protobuf.Service): string[] =>
  service.methodsArray.map((method) => {
    const { pool } = readMark(method);
    const field = pool === 'never' ? undefined : fieldOfRule[pool];
    if (field !== undefined && requestOf(method)?.fields[field]?.type !== 'string')
      throw new Error(`${method.fullName}: pool: ${pool} needs a field \`${field}\` in its request`);
    return `  ${methodName(method)}: '${pool}',\n`;
  });

const methodName = ({ name }: protobuf.Method): string => name.charAt(0).toLowerCase() + name.slice(1);

const markPattern = new RegExp(`^retry: (${retries.join('|')})(, takes long)?$`);

const poolPattern = new RegExp(`^pool: (${poolRules.join('|')})$`);

const partPattern = /^part: (\w+)$/;

/**
 * The last line of an RPC's comment is its retry rule, the line before it says what pools may call; the line before that may name its
 * part. The lines above these are the description.
 */
function readMark({ fullName, comment: whole }: protobuf.Method): {
  readonly rule: RetryRule;
  readonly pool: PoolRule;
  readonly part: string | undefined;
  readonly text: string | null;
} {
  const lines = whole?.split('\n') ?? [];
  const mark = markPattern.exec(lines.at(-1) ?? '');
  if (!mark) {
    throw new Error(
      `${fullName}: the line above it must be \`// retry: ${retries.join('|')}\`, with \`, takes long\` after it or not`,
    );
  }
  const rule = { retry: mark[1] as RetryRule['retry'], takesLong: mark[2] !== undefined };
  const [, pool] = poolPattern.exec(lines.at(-2) ?? '') ?? [];
  if (pool === undefined)
    throw new Error(`${fullName}: above its line \`// retry\` must be \`// pool: ${poolRules.join('|')}\``);
  const [, part] = partPattern.exec(lines.at(-3) ?? '') ?? [];
  const text = lines.slice(0, part === undefined ? -2 : -3);
  return { rule, pool: pool as PoolRule, part, text: text.length === 0 ? null : text.join('\n') };
}

const requestOf = ({ parent, requestType }: protobuf.Method): protobuf.Type | undefined =>
  parent?.lookupType(requestType);

function hasAttemptId(method: protobuf.Method): boolean {
  const request = requestOf(method);
  const field = request?.fields['attemptId'] ?? request?.fields['attempt_id'];
  return field?.type === 'string' && field.partOf !== null;
}

function renderType(type: protobuf.Type): string {
  if (type.fieldsArray.length === 0)
    return `${comment(type.comment)}export type ${type.name} = Readonly<Record<string, never>>;\n`;
  const fields = type.fieldsArray.map((field) => {
    const optional = field.partOf || mayBeAbsent(field) ? '?' : '';
    return `${comment(textOf(field), '  ')}  readonly ${field.name}${optional}: ${typeOf(field)};\n`;
  });
  return `${comment(type.comment)}export interface ${type.name} {\n${fields.join('')}}\n`;
}

function typeOf(field: Field): string {
  const type = listOf(field) ?? scalars[field.type] ?? shortName(field.type);
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
