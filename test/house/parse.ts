import ts from 'typescript';
import { read } from './tree.ts';

const parsed = new Map<string, ts.SourceFile>();

/** The syntax tree of a file of ours, types unresolved. */
export function parse(file: string): ts.SourceFile {
  const known = parsed.get(file) ?? parseText(file, read(file));
  parsed.set(file, known);
  return known;
}

export function parseText(file: string, text: string): ts.SourceFile {
  return ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
}

/** Every node of a tree, from the top, a parent before its children. */
export function* nodesOf(node: ts.Node): Generator<ts.Node> {
  const open = [node];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    yield next;
    const children: ts.Node[] = [];
    ts.forEachChild(next, (child) => void children.push(child));
    open.push(...children.toReversed());
  }
}

/** The line that a node begins in, from 1. */
export function lineOf(node: ts.Node): number {
  const source = node.getSourceFile();
  return source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1;
}
