import { readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import ts from 'typescript';
import { root } from '../generator/settings.ts';

/** The files that a package is built of: path from the root of the build → text. */
export type Built = ReadonlyMap<string, string>;

interface EmitOptions {
  /** The modules whose imports are followed, as paths from the root of the repository. */
  readonly entries: readonly string[];
  /** Where an import of another package leads: a path from the root of the repository; `undefined` leaves it as it is. */
  readonly resolve: (specifier: string) => string | undefined;
  /** The same for the compiler, which emits nothing of what it finds below `node_modules`: every specifier that leads to a file of ours. */
  readonly paths: Readonly<Record<string, string>>;
  /** Whether types are emitted, too. */
  readonly declaration: boolean;
}

/**
 * Compiles the entries, and what they import of ours, to JavaScript for Node 22 and types. The files keep their places.
 * @throws Error naming the first faults of types.
 */
export function emit({ entries, resolve, paths, declaration }: EmitOptions): Built {
  const options: ts.CompilerOptions = {
    ...readBaseOptions(),
    ...{ target: ts.ScriptTarget.ES2024, noEmit: false, incremental: false, declaration, removeComments: false },
    ...{ rewriteRelativeImportExtensions: true, rootDir: root, outDir: root },
    paths: Object.fromEntries(Object.entries(paths).map(([specifier, path]) => [specifier, [join(root, path)]])),
  };
  const program = createProgram(
    entries.map((entry) => join(root, entry)),
    options,
  );
  const faults = ts.getPreEmitDiagnostics(program);
  if (faults.length > 0) throw new Error(ts.formatDiagnostics(faults.slice(0, 10), host));
  const built = new Map<string, string>();
  const rewrite = rewriting(resolve);
  program.emit(
    undefined,
    (path, text) => {
      built.set(relative(root, path), text);
    },
    undefined,
    false,
    { after: [rewrite], afterDeclarations: [rewrite as ts.TransformerFactory<ts.SourceFile | ts.Bundle>] },
  );
  return built;
}

/** A program of the entries, what they import, and the modules that they start as threads. */
function createProgram(entries: readonly string[], options: ts.CompilerOptions): ts.Program {
  const program = ts.createProgram(entries, options);
  const threads = program.getSourceFiles().flatMap((file) => (file.isDeclarationFile ? [] : threadsOf(file)));
  const missing = threads.filter((path) => !program.getSourceFile(path));
  return missing.length === 0 ? program : createProgram([...entries, ...missing], options);
}

function threadsOf(file: ts.SourceFile): readonly string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (isModuleUrl(node)) found.push(join(dirname(file.fileName), node.arguments[0].text));
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

const host: ts.FormatDiagnosticsHost = {
  getCanonicalFileName: (name) => name,
  getCurrentDirectory: () => root,
  getNewLine: () => '\n',
};

function readBaseOptions(): ts.CompilerOptions {
  const path = join(root, 'tsconfig.base.json');
  const { config, error } = ts.readConfigFile(path, (name) => readFileSync(name, 'utf8')) as {
    readonly config?: object;
    readonly error?: ts.Diagnostic;
  };
  if (error) throw new Error(ts.formatDiagnostic(error, host));
  const given = { ...config, include: [], files: ['entries.ts'] };
  const { tsBuildInfoFile: _, ...options } = ts.parseJsonConfigFileContent(given, ts.sys, root).options;
  return options;
}

/** Replaces the specifiers that lead to files of the same package, and the `.ts` of `new URL('./x.ts', import.meta.url)`. */
function rewriting(resolve: EmitOptions['resolve']): ts.TransformerFactory<ts.SourceFile> {
  return (context) => (file) => {
    const { factory } = context;
    const replaced = (literal: ts.StringLiteralLike): ts.StringLiteral | undefined => {
      if (/^\.\.?\//.test(literal.text)) return factory.createStringLiteral(literal.text.replace(/\.ts$/, '.js'), true);
      const target = resolve(literal.text);
      return target === undefined
        ? undefined
        : factory.createStringLiteral(relativeSpecifier(file.fileName, target), true);
    };
    const visit = (node: ts.Node): ts.Node => {
      if (ts.isImportDeclaration(node) && ts.isStringLiteral(node.moduleSpecifier)) {
        const specifier = replaced(node.moduleSpecifier);
        if (!specifier) return node;
        return factory.updateImportDeclaration(node, node.modifiers, node.importClause, specifier, node.attributes);
      }
      if (ts.isExportDeclaration(node) && node.moduleSpecifier && ts.isStringLiteral(node.moduleSpecifier)) {
        const specifier = replaced(node.moduleSpecifier);
        if (!specifier) return node;
        return factory.updateExportDeclaration(
          node,
          node.modifiers,
          node.isTypeOnly,
          node.exportClause,
          specifier,
          node.attributes,
        );
      }
      if (
        ts.isImportTypeNode(node) &&
        ts.isLiteralTypeNode(node.argument) &&
        ts.isStringLiteral(node.argument.literal)
      ) {
        const specifier = replaced(node.argument.literal);
        if (specifier) {
          const argument = factory.createLiteralTypeNode(specifier);
          return factory.updateImportTypeNode(
            node,
            argument,
            node.attributes,
            node.qualifier,
            node.typeArguments,
            node.isTypeOf,
          );
        }
      }
      if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
        const [argument] = node.arguments;
        const specifier = argument && ts.isStringLiteralLike(argument) ? replaced(argument) : undefined;
        if (specifier) return factory.updateCallExpression(node, node.expression, undefined, [specifier]);
      }
      // The package is needed as one that is imported is.
      if (isRequire(node)) resolve(node.arguments[0].text);
      if (isModuleUrl(node)) {
        const [path, base] = node.arguments;
        const text = path.text.replace(/\.ts$/, '.js');
        return factory.updateNewExpression(node, node.expression, undefined, [
          factory.createStringLiteral(text, true),
          base,
        ]);
      }
      return ts.visitEachChild(node, visit, context);
    };
    return ts.visitEachChild(file, visit, context);
  };
}

type ModuleUrl = ts.NewExpression & { readonly arguments: readonly [ts.StringLiteralLike, ts.Expression] };

function isModuleUrl(node: ts.Node): node is ModuleUrl {
  if (!ts.isNewExpression(node) || !ts.isIdentifier(node.expression) || node.expression.text !== 'URL') return false;
  const [path, base] = node.arguments ?? [];
  if (!path || !base || !ts.isStringLiteralLike(path) || !path.text.endsWith('.ts')) return false;
  return ts.isPropertyAccessExpression(base) && ts.isMetaProperty(base.expression);
}

type Require = ts.CallExpression & { readonly arguments: readonly [ts.StringLiteralLike] };

/** `createRequire(import.meta.url)('package')`. */
function isRequire(node: ts.Node): node is Require {
  if (!ts.isCallExpression(node) || !ts.isCallExpression(node.expression)) return false;
  const { expression: maker } = node.expression;
  const [specifier] = node.arguments;
  return ts.isIdentifier(maker) && maker.text === 'createRequire' && !!specifier && ts.isStringLiteralLike(specifier);
}

function relativeSpecifier(from: string, target: string): string {
  const path = relative(dirname(from), join(root, target)).split(sep).join('/').replace(/\.ts$/, '.js');
  return path.startsWith('.') ? path : `./${path}`;
}
