import { globSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

/** A regular expression as it stands in the code of the product. */
export interface Literal {
  readonly file: string;
  readonly source: string;
  readonly flags: string;
}

/** What a source file holds of regular expressions. */
interface Found {
  readonly literals: readonly Literal[];
  /** Calls that make one of what is only known at run time, which nothing can check beforehand. */
  readonly made: readonly string[];
}

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Every file of the product; tests, tools and what is served as others wrote it are none. */
const productFiles = (): readonly string[] =>
  globSync(['protos/**/*.{ts,js}', 'services/**/*.{ts,js}', 'gateway/**/*.{ts,js}'], {
    cwd: root,
    exclude: (name) => name.includes('node_modules') || name.endsWith('dist') || name.endsWith('swagger-ui'),
  })
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => !file.endsWith('.test.ts') && !file.endsWith('/generator.ts'));

/** The regular expressions of the whole product. */
export function readProduct(): Found {
  const each = productFiles().map((file) => readSource(file, readFileSync(posix.join(root, file), 'utf8')));
  return { literals: each.flatMap(({ literals }) => literals), made: each.flatMap(({ made }) => made) };
}

/** The regular expressions of one source. */
export function readSource(file: string, source: string): Found {
  const literals: Literal[] = [];
  const made: string[] = [];
  const texts = new Map<string, string>();
  const read = (maker: ts.NewExpression | ts.CallExpression): void => {
    const [pattern, flags] = maker.arguments ?? [];
    const text = pattern && (ts.isStringLiteral(pattern) ? pattern.text : texts.get(pattern.getText()));
    if (text === undefined) made.push(`${file}: ${maker.getText()}`);
    else literals.push({ file, source: text, flags: flags && ts.isStringLiteral(flags) ? flags.text : '' });
  };
  const visit = (node: ts.Node): void => {
    if (ts.isRegularExpressionLiteral(node)) literals.push(toLiteral(file, node.text));
    if (ts.isVariableDeclaration(node) && node.initializer && ts.isStringLiteral(node.initializer))
      texts.set(node.name.getText(), node.initializer.text);
    if (isMaker(node)) read(node);
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true));
  return { literals, made };
}

const isMaker = (node: ts.Node): node is ts.NewExpression | ts.CallExpression =>
  (ts.isNewExpression(node) || ts.isCallExpression(node)) && node.expression.getText() === 'RegExp';

function toLiteral(file: string, text: string): Literal {
  const end = text.lastIndexOf('/');
  return { file, source: text.slice(1, end), flags: text.slice(end + 1) };
}
