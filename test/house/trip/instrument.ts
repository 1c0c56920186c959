import { stripTypeScriptTypes } from 'node:module';
import ts from 'typescript';

/** Adds a call of `globalThis.entered(id)` to the start of each function of a file. Ids count from `firstId`; lines stay as they are. */
export function instrument(text: string, firstId: number): { readonly code: string; readonly count: number } {
  const plain = stripTypeScriptTypes(text);
  const source = ts.createSourceFile('any.js', plain, ts.ScriptTarget.Latest, true);
  const inserts: { readonly at: number; readonly code: string }[] = [];
  let count = 0;
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && 'body' in node && node.body !== undefined) {
      const entered = `globalThis.entered(${String(firstId + count)})`;
      const { body } = node;
      count += 1;
      if (ts.isBlock(body)) inserts.push({ at: body.getStart(source) + 1, code: `${entered};` });
      else inserts.push({ at: body.getStart(source), code: `(${entered},` }, { at: body.end, code: ')' });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  let code = '';
  let done = 0;
  for (const { at, code: added } of inserts.toSorted((one, other) => one.at - other.at)) {
    code += plain.slice(done, at) + added;
    done = at;
  }
  return { code: code + plain.slice(done), count };
}
