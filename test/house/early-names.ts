import ts from 'typescript';
import { nodesOf, lineOf, parse, parseText } from './parse.ts';
import { files, tests } from './tree.ts';

/** A name of a function's own that stands above the statement that makes it. */
export interface EarlyName {
  readonly file: string;
  readonly line: number;
  readonly name: string;
}

/**
 * The names that a function uses above the statement that makes them. Only functions that are called later can do so: they then depend on
 * each other in a circle that no import shows, or stand in an order that a reader has to undo.
 */
export const earlyNames = (): EarlyName[] =>
  files
    .filter((file) => !tests.test(file))
    .flatMap((file) => earlyNamesOf(parse(file)).map((hit) => ({ file, ...hit })));

export const earlyNamesIn = (text: string): Omit<EarlyName, 'file'>[] => earlyNamesOf(parseText('any.ts', text));

function earlyNamesOf(source: ts.SourceFile): Omit<EarlyName, 'file'>[] {
  const found = new Map<ts.Node, Omit<EarlyName, 'file'>>();
  for (const node of nodesOf(source)) {
    if (!ts.isIdentifier(node) || !isUse(node)) continue;
    const made = makerOf(node);
    if (!made || found.has(made) || !isWithinFunction(made) || node.pos >= made.pos) continue;
    found.set(made, { line: lineOf(node), name: node.text });
  }
  return [...found.values()];
}

/** Whether an identifier stands for a value, and is no name of a member, a type or what is being made. */
function isUse(node: ts.Identifier): boolean {
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent)) return parent.expression === node;
  if (ts.isPropertyAssignment(parent)) return parent.initializer === node;
  if (ts.isBindingElement(parent)) return parent.initializer === node;
  if (ts.isVariableDeclaration(parent) || ts.isParameter(parent)) return parent.initializer === node;
  return !(
    ts.isTypeNode(parent) ||
    ts.isTypeElement(parent) ||
    ts.isMethodDeclaration(parent) ||
    ts.isPropertyDeclaration(parent) ||
    ts.isQualifiedName(parent) ||
    ts.isTypeQueryNode(parent)
  );
}

/** The statement that makes the variable of this name; `undefined` when that is a parameter, a function, an import or unknown. */
function makerOf(node: ts.Identifier): ts.Statement | undefined {
  for (let scope: ts.Node = node.parent; !ts.isSourceFile(scope); scope = scope.parent) {
    if (ts.isFunctionLike(scope) && scope.parameters.some(({ name }) => holds(name, node.text))) return undefined;
    if (ts.isCatchClause(scope) && scope.variableDeclaration && holds(scope.variableDeclaration.name, node.text))
      return undefined;
    if (
      (ts.isForOfStatement(scope) || ts.isForInStatement(scope) || ts.isForStatement(scope)) &&
      makes(scope.initializer, node.text)
    )
      return undefined;
    if (!ts.isBlock(scope) && !ts.isCaseClause(scope)) continue;
    for (const statement of scope.statements) {
      if (ts.isFunctionDeclaration(statement) && statement.name?.text === node.text) return undefined;
      if (ts.isVariableStatement(statement) && makes(statement.declarationList, node.text)) return statement;
    }
  }
  return undefined;
}

const makes = (list: ts.Node | undefined, name: string): boolean =>
  list !== undefined && ts.isVariableDeclarationList(list) && list.declarations.some((one) => holds(one.name, name));

const holds = (name: ts.BindingName, text: string): boolean =>
  ts.isIdentifier(name)
    ? name.text === text
    : name.elements.some((element) => ts.isBindingElement(element) && holds(element.name, text));

function isWithinFunction(node: ts.Node): boolean {
  for (let above = node.parent; !ts.isSourceFile(above); above = above.parent)
    if (ts.isFunctionLike(above)) return true;
  return false;
}
