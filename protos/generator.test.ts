import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { format, resolveConfig } from 'prettier';
import protobuf from 'protobufjs';
import { toTypeScript } from './generator.ts';
import { definitionOf, methodName } from './wire/definitions.ts';

for (const context of ['threads', 'execution', 'memory'] as const) {
  const fileOf = (ending: string): string => fileURLToPath(new URL(`./${context}.${ending}`, import.meta.url));

  test(`${context}.ts is what npm run proto writes`, async (t) => {
    const file = fileOf('ts');
    const options = (await resolveConfig(file)) ?? {};
    t.is(
      readFileSync(file, 'utf8'),
      await format(toTypeScript(context, readFileSync(fileOf('proto'), 'utf8')), { ...options, filepath: file }),
    );
  });

  test(`every method of ${context} can be called over gRPC`, (t) => {
    const text = readFileSync(fileOf('ts'), 'utf8');
    const methods = [...text.matchAll(/^ {2}readonly (\w+): \(/gm)].map(([, name]) => name);
    t.true(methods.length > 0);
    t.deepEqual(Object.keys(definitionOf(context)).map(methodName).toSorted(), methods.toSorted());
  });

  test(`${context}.proto uses only types with the same values in process and over gRPC`, (t) => {
    const { root } = protobuf.parse(readFileSync(fileOf('proto'), 'utf8'));
    for (const field of fieldsOf(root))
      t.regex(field.type, /^(string|bytes|bool|int64|double|.*[A-Z]\w*)$/, field.fullName);
  });
}

const fieldsOf = (space: protobuf.NamespaceBase): protobuf.Field[] =>
  space.nestedArray.flatMap((node) => {
    if (node instanceof protobuf.Type) return [...node.fieldsArray, ...fieldsOf(node)];
    return node instanceof protobuf.Namespace ? fieldsOf(node) : [];
  });

test('a field whose comment names an unknown list is not generated', (t) => {
  const source = readFileSync(new URL('./memory.proto', import.meta.url), 'utf8');
  const misspelt = source.replace('list: DistanceMetric', 'list: DistanceMetrics');
  t.throws(() => toTypeScript('memory', misspelt), { message: /distanceMetric: there is no list "DistanceMetrics"/ });
  const wrong = source.replace('  int64 limit = 4;', '  // list: MemoryType\n  int64 limit = 4;');
  t.throws(() => toTypeScript('memory', wrong), { message: /SearchRequest\.limit: only a string/ });
});

test('messages that hold each other are generated, with the lists that each leads to', (t) => {
  const text = toTypeScript(
    'tea',
    `syntax = "proto3";
    package tea.v1;
    message Pot { Cup cup = 1; }
    message Cup {
      Pot pot = 1;
      Cup next = 2;
      // list: RunStatus
      string status = 3;
    }
    message Spoon { Fork fork = 1; }
    message Fork { Spoon spoon = 1; }`,
  );
  t.regex(text, /^ {2}Pot: \{ cup: \{ of: 'Cup' \} \},$/m);
  t.regex(text, /^ {2}Cup: \{ pot: \{ of: 'Pot' \}, next: \{ of: 'Cup' \}, status: 'RunStatus' \},$/m);
  t.notRegex(text, /^ {2}(Spoon|Fork): \{/m);
});

test('a service is divided into the parts that its comments name, and no method is left outside', (t) => {
  const source = (...marks: readonly string[]): string => `syntax = "proto3";
    package tea.v1;
    service Tea {
      // Boils water.
      ${marks[0]}// pool: never
      // retry: safe
      rpc Boil(Water) returns (Water);
      ${marks[1]}// pool: never
      // retry: never
      rpc Pour(Water) returns (Water);
    }
    message Water { string cup = 1; }`;
  const text = toTypeScript('tea', source('// part: Kettle\n', '// part: Pot\n'));
  t.regex(text, /^export interface Kettle \{\n {2}\/\*\* Boils water\. \*\/\n {2}readonly boil: [^}]*;\n\}$/m);
  t.regex(text, /^export interface Pot \{\n {2}readonly pour: [^}]*;\n\}$/m);
  t.regex(text, /^export interface Tea extends Kettle, Pot \{\n\}$/m);
  t.regex(toTypeScript('tea', source('', '')), /^export interface Tea \{\n[^}]*boil[^}]*pour[^}]*\}$/m);
  t.throws(() => toTypeScript('tea', source('// part: Kettle\n', '')), {
    message: /Tea\.Pour: a line `\/\/ part: ` must name the part of Tea/,
  });
});
