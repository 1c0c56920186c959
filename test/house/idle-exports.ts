import ts from 'typescript';
import { lineOf, nodesOf, parse } from './parse.ts';
import { fileOf, files, tests } from './tree.ts';

/** An export without an importer, or with none but tests. An entry that a workspace declares is there for its outside: tests from another workspace count. */
interface IdleExport {
  readonly file: string;
  readonly line: number;
  readonly name: string;
  readonly importers: 'nobody' | 'tests';
}

/** What is imported from outside this tree, or by a name that no import spells. */
const entries: readonly RegExp[] = [
  // What authors of agents and of authentication write against.
  /^services\/(graph\/(index|testing|ai-sdk)|client\/index|langgraph\/index)\.ts$/,
  /^services\/execution\/graph\.ts$/,
  /^gateway\/auth\/backend\.ts$/,
  // Every message of a proto, whether or not somebody names its type.
  /^protos\/(threads|execution|memory)\.ts$/,
  // Loaded by the paths of their folders: the settings of each part, and the agent that a service file names.
  /^services\/execution\/agents\/default\/settings\.ts$/,
  /^services\/execution\/agents\/default\.ts$/,
  // The files of a new project, as its author gets them.
  /^services\/command\/init\/template\//,
  // The example of a team's image: its service file names it.
  /^deploy\/team\/agent\.js$/,
  // What `ava.config.js` has ava call.
  /^test\/ci\/record\.ts$/,
  /^test\/(agents|backends|cookbook\/agents|servers\/agents)\/|^test\/(bench\/agents|house\/trip\/agent)\.ts$/,
];

type SourceOf = (file: string) => ts.SourceFile;

/** The idle exports of the tree, in the order of its files. */
export function idleExports(all: readonly string[] = files, sourceOf: SourceOf = parse): IdleExport[] {
  const importers = importersOf(all, sourceOf);
  return all
    .filter((file) => !entries.some((entry) => entry.test(file)))
    .flatMap((file) =>
      exportsOf(sourceOf(file)).flatMap(({ name, line }): IdleExport[] => {
        const users = [...(importers.get(`${file}#${name}`) ?? []), ...(importers.get(`${file}#*`) ?? [])];
        if (users.length === 0) return [{ file, line, name, importers: 'nobody' }];
        const onlyTests = !tests.test(file) && users.every((user) => tests.test(user.file) && !user.isThroughEntry);
        return onlyTests ? [{ file, line, name, importers: 'tests' }] : [];
      }),
    );
}

interface Importer {
  readonly file: string;
  /** Whether it names an entry that a workspace declares, and not a file beside it. */
  readonly isThroughEntry: boolean;
}

/** By `file#name`, or `file#*` for an import of the whole module, who imports it. */
function importersOf(all: readonly string[], sourceOf: SourceOf): ReadonlyMap<string, readonly Importer[]> {
  const importers = new Map<string, Importer[]>();
  for (const file of all) {
    for (const { from, name } of importsOf(sourceOf(file))) {
      const target = fileOf(file, from);
      if (target === undefined) continue;
      const key = `${target}#${name}`;
      const isThroughEntry = from.startsWith('@agent-workflow/');
      importers.set(key, [...(importers.get(key) ?? []), { file, isThroughEntry }]);
    }
  }
  return importers;
}

interface Import {
  readonly from: string;
  readonly name: string;
}

function importsOf(source: ts.SourceFile): Import[] {
  return [...nodesOf(source)].flatMap((node) => {
    if (ts.isImportDeclaration(node)) return namesOf(node.moduleSpecifier, node.importClause?.namedBindings);
    if (ts.isExportDeclaration(node)) return namesOf(node.moduleSpecifier, node.exportClause, '*');
    if (ts.isImportTypeNode(node)) return namedByType(node);
    const isCall = ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword;
    return isCall ? namedByCall(node) : [];
  });
}

/** Imports and exports with a `from`: of names, of all as one name, of all as they are. */
function namesOf(
  from: ts.Expression | undefined,
  bindings: ts.NamedImportBindings | ts.NamedExportBindings | undefined,
  otherwise?: string,
): Import[] {
  if (from === undefined || !ts.isStringLiteral(from)) return [];
  if (bindings === undefined) return otherwise === undefined ? [] : [{ from: from.text, name: otherwise }];
  if (!('elements' in bindings)) return [{ from: from.text, name: '*' }];
  return bindings.elements.map((element) => ({ from: from.text, name: (element.propertyName ?? element.name).text }));
}

/** `import(…).A` as a type, and `typeof import(…)`. */
function namedByType(node: ts.ImportTypeNode): Import[] {
  const from = ts.isLiteralTypeNode(node.argument) ? node.argument.literal : undefined;
  if (from === undefined || !ts.isStringLiteral(from)) return [];
  const name = node.qualifier !== undefined && ts.isIdentifier(node.qualifier) ? node.qualifier.text : '*';
  return [{ from: from.text, name }];
}

/** `const { a } = await import(…)`; any other use of the module may read any of its names. */
function namedByCall(node: ts.CallExpression): Import[] {
  const [from] = node.arguments;
  if (from === undefined || !ts.isStringLiteral(from)) return [];
  const declaration = ts.isAwaitExpression(node.parent) ? node.parent.parent : node.parent;
  const bindings = ts.isVariableDeclaration(declaration) ? declaration.name : undefined;
  if (bindings === undefined || !ts.isObjectBindingPattern(bindings)) return [{ from: from.text, name: '*' }];
  return bindings.elements.map(({ propertyName, name }) => ({
    from: from.text,
    name: (propertyName ?? name).getText(),
  }));
}

interface Export {
  readonly name: string;
  readonly line: number;
}

function exportsOf(source: ts.SourceFile): Export[] {
  return source.statements.flatMap((statement) => {
    if (ts.isExportDeclaration(statement)) {
      const clause = statement.exportClause;
      return clause !== undefined && ts.isNamedExports(clause)
        ? clause.elements.map(({ name }) => ({ name: name.text, line: lineOf(name) }))
        : [];
    }
    const isExported =
      ts.getCombinedModifierFlags(statement as ts.Declaration & ts.Statement) & ts.ModifierFlags.Export;
    if (isExported === 0) return [];
    const named = ts.isVariableStatement(statement)
      ? statement.declarationList.declarations.map(({ name }) => name)
      : [(statement as ts.DeclarationStatement).name];
    return named.flatMap((name) =>
      name !== undefined && ts.isIdentifier(name) ? [{ name: name.text, line: lineOf(name) }] : [],
    );
  });
}
