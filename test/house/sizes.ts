/**
 * `npx node test/house/sizes.ts [tree]`: how long functions and files are, how many files stand in a folder and on how many floors,
 * and how many methods a port has. Tests are not counted. Pictures to look at, not limits.
 */
import { globSync, readFileSync } from 'node:fs';
import { posix, resolve } from 'node:path';
import ts from 'typescript';
import { nodesOf, parseText } from './parse.ts';
import { root, specifiersOf } from './tree.ts';

interface Measured {
  readonly name: string;
  readonly size: number;
}

const tree = resolve(process.argv[2] ?? root);
const sources = globSync('{protos,services,gateway}/**/*.ts', {
  cwd: tree,
  exclude: (name) => name.includes('node_modules') || name.endsWith('.test.ts'),
})
  .toSorted()
  .map((file) => parseText(file.replaceAll('\\', '/'), readFileSync(posix.join(tree, file), 'utf8')));

const functions = sources.flatMap(functionsOf);
const files = sources.map((source) => ({ name: source.fileName, size: linesOf(source, source) }));
print('lines of a function', functions, [4, 15, 30, 60, 120]);
print('lines of a file', files, [50, 100, 200, 300, 500]);
print('files of a folder', foldersOf(), [3, 6, 10, 20, 30]);
print('floors of a folder: the longest chain of imports among its files', floorsOf(), [1, 2, 4, 6, 9]);
print('methods of a port', sources.flatMap(portsOf), [3, 5, 8, 12, 20]);

/** A bar for each range of sizes, then the largest by name. */
function print(title: string, measured: readonly Measured[], bounds: readonly number[]): void {
  const sizes = measured.map(({ size }) => size).toSorted((one, other) => one - other);
  const median = sizes[Math.floor(sizes.length / 2)] ?? 0;
  const lines = [`\n${title}: ${sizes.length}, median ${median}, largest ${sizes.at(-1) ?? 0}`];
  for (const [index, bound] of [...bounds, Infinity].entries()) {
    const from = (bounds[index - 1] ?? 0) + 1;
    const count = sizes.filter((size) => size >= from && size <= bound).length;
    const label = bound === Infinity ? `over ${from - 1}` : `${from} to ${bound}`;
    const bar = '█'.repeat(Math.ceil((count / Math.max(1, sizes.length)) * 60));
    lines.push(`  ${label.padStart(10)} ${String(count).padStart(5)} ${bar}`);
  }
  const largest = measured.toSorted((one, other) => other.size - one.size).slice(0, 8);
  for (const { name, size } of largest) lines.push(`  ${String(size).padStart(10)}       ${name}`);
  process.stdout.write(`${lines.join('\n')}\n`);
}

function functionsOf(source: ts.SourceFile): Measured[] {
  return [...nodesOf(source)].flatMap((node) => {
    if (!ts.isFunctionLike(node) || !('body' in node) || node.body === undefined) return [];
    const named = (node as Partial<ts.NamedDeclaration>).name ?? (node.parent as Partial<ts.NamedDeclaration>).name;
    return [{ name: `${source.fileName} ${named?.getText(source) ?? '(anonymous)'}`, size: linesOf(source, node) }];
  });
}

function linesOf(source: ts.SourceFile, node: ts.Node): number {
  const lineAt = (offset: number): number => source.getLineAndCharacterOfPosition(offset).line;
  return lineAt(node.end) - lineAt(node.getStart(source)) + 1;
}

function foldersOf(): Measured[] {
  const all = Map.groupBy(sources, ({ fileName }) => posix.dirname(fileName));
  return [...all].map(([name, inside]) => ({ name, size: inside.length }));
}

function floorsOf(): Measured[] {
  const all = Map.groupBy(sources, ({ fileName }) => posix.dirname(fileName));
  return [...all].map(([name, inside]) => {
    const imports = new Map(
      inside.map(({ fileName, text }) => [
        fileName,
        specifiersOf(text).flatMap((from) => (from.startsWith('.') ? [posix.join(name, from)] : [])),
      ]),
    );
    const floor = (file: string, above: readonly string[]): number =>
      1 +
      Math.max(
        0,
        ...(imports.get(file) ?? [])
          .filter((other) => imports.has(other) && !above.includes(other))
          .map((other) => floor(other, [...above, file])),
      );
    return { name, size: Math.max(...inside.map(({ fileName }) => floor(fileName, [fileName]))) };
  });
}

/** The interfaces in files of ports that have methods. */
function portsOf(source: ts.SourceFile): Measured[] {
  if (!/(^|\/)ports?(\/|\.ts$)/.test(source.fileName)) return [];
  return source.statements.filter(ts.isInterfaceDeclaration).flatMap((port) => {
    const size = port.members.filter(isMethod).length;
    return size === 0 ? [] : [{ name: `${source.fileName} ${port.name.text}`, size }];
  });
}

function isMethod(member: ts.TypeElement): boolean {
  if (ts.isMethodSignature(member)) return true;
  return ts.isPropertySignature(member) && member.type !== undefined && ts.isFunctionTypeNode(member.type);
}
