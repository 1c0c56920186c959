import { stripTypeScriptTypes } from 'node:module';
import ts from 'typescript';

/** A function of the service, and where it stands in the code that runs: offsets into the instrumented text. */
export interface Traced {
  readonly file: string;
  readonly name: string;
  readonly line: number;
  readonly from: number;
  readonly to: number;
  /** The function that it is written in. */
  readonly inside?: number;
}

interface Instrumented {
  readonly code: string;
  readonly functions: readonly Traced[];
}

/** Adds a call of `globalThis.entered(id)` to the start of each function. Ids count from `firstId`; lines stay as they are. */
export function instrument(file: string, text: string, firstId: number): Instrumented {
  const plain = stripTypeScriptTypes(text);
  const source = ts.createSourceFile(file.replace(/\.ts$/, '.js'), plain, ts.ScriptTarget.Latest, true);
  const inserts: { readonly at: number; readonly code: string }[] = [];
  const found: { readonly node: ts.Node; readonly inside?: number }[] = [];
  const visit = (node: ts.Node, inside?: number): void => {
    let id = inside;
    if (ts.isFunctionLike(node) && 'body' in node && node.body !== undefined) {
      id = firstId + found.length;
      found.push({ node, ...(inside === undefined ? {} : { inside }) });
      if (ts.isBlock(node.body)) {
        inserts.push({ at: node.body.getStart(source) + 1, code: `globalThis.entered(${id});` });
      } else {
        inserts.push({ at: node.body.getStart(source), code: `(globalThis.entered(${id}),` });
        inserts.push({ at: node.body.end, code: ')' });
      }
    }
    ts.forEachChild(node, (child) => visit(child, id));
  };
  visit(source);
  inserts.sort((one, other) => one.at - other.at);

  const moved = (at: number, inclusive: boolean): number =>
    inserts.reduce(
      (sum, insert) => sum + (insert.at < at || (inclusive && insert.at === at) ? insert.code.length : 0),
      at,
    );
  const functions = found.map(({ node, ...around }) => ({
    file,
    ...around,
    name: nameOf(node),
    line: source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1,
    from: moved(node.getStart(source), true),
    to: moved(node.end, false),
  }));
  let code = '';
  let done = 0;
  for (const { at, code: added } of inserts) {
    code += plain.slice(done, at) + added;
    done = at;
  }
  return { code: code + plain.slice(done), functions };
}

/** Its own name, or that of the variable, property or call that it is given to. */
function nameOf(node: ts.Node): string {
  const own = (node as Partial<ts.NamedDeclaration>).name;
  if (own !== undefined) return own.getText();
  const { parent } = node;
  if (ts.isVariableDeclaration(parent) || ts.isPropertyAssignment(parent)) return parent.name.getText();
  if (ts.isCallExpression(parent)) return `in ${parent.expression.getText().replaceAll(/\s+/g, '').slice(0, 40)}(…)`;
  if (ts.isReturnStatement(parent) || ts.isArrowFunction(parent)) return 'returned';
  return 'anonymous';
}
