import { globSync } from 'node:fs';
import { posix } from 'node:path';
import ts from 'typescript';
import { lineOf, nodesOf, parseText } from './parse.ts';
import { files, read, root, tests } from './tree.ts';

/** A word that another one has replaced. It is refused in names, and with `prose` also in comments and READMEs. */
interface Replaced {
  /** Matches one word of a name, or several in a row, in lower case with a blank between: `let go`. */
  readonly name: RegExp;
  /** Matches in a comment or README; absent where the word is ordinary English, as in "a message says why". */
  readonly prose?: RegExp;
  /** Files in which the name means something else. */
  readonly except?: RegExp;
  readonly use: string;
}

const replaced: readonly Replaced[] = [
  { name: /\b(tell|tells|told)\b/, prose: /\b(tell|tells|told)\b/i, use: 'publish, published, follow' },
  { name: /\b(say|says|said)\b/, use: 'publish, emit, message' },
  { name: /\b(hear|hears|heard)\b/, prose: /\b(hear|hears|heard)\b/i, use: 'follow, receive' },
  { name: /\bpieces?\b/, prose: /\bpieces?\b/i, use: 'chunk' },
  { name: /\b(ask|asks|asker|askers)\b/, prose: /\baskers?\b/i, use: 'request context, request' },
  { name: /\btrails?\b/, prose: /\btrails?\b/i, use: 'request context' },
  { name: /\b(leash|leashes|patience)\b/, prose: /\b(leash|leashes|patience)\b/i, use: 'deadline, timeout' },
  { name: /\bstanding\b/, use: 'offset' },
  { name: /\bstrangers?\b/, prose: /\bstrangers?\b/i, use: 'unauthenticated caller' },
  // `rowsAtOnce` is a number of rows in one go.
  { name: /(?<!\bat )\bonce\b/, use: 'idempotency, tool call record' },
  { name: /\b(let|lets) go\b/, prose: /\b(let|lets|letting) go\b/i, use: 'release' },
  { name: /\b(pass|passes|passed) on\b/, prose: /\b(pass|passes|passed|passing) on\b/i, use: 'requeue, hand off' },
  { name: /\b(hand|hands|handed) over\b/, prose: /\b(hands?|handed|handing) over\b/i, use: 'hand off' },
  // The glossary itself says of a call that it is given up.
  { name: /\b(give|gives|gave|given|giving) up\b/, use: 'fail' },
  // A tool that looks up an order is what the first example of every agent has.
  { name: /\b(look|looks|looked|looking)\b(?! up\b)/, use: 'sweep' },
  {
    name: /\b(carry|carries|carried|carrying)\b/,
    // A key of the stored JSON.
    except: /^services\/graph\/run\/continuation\.ts$/,
    use: 'continuation',
  },
  {
    name: /\b(weigh|weighs|weighed|weight|weights|heavy)\b/,
    prose: /\b(weigh|weighs|weighed)\b/i,
    // In a search a weight is a factor of a score; a campaign draws its faults by weights.
    except: /^services\/memory\/|^test\/(contract\/memory|kill\/)/,
    use: 'bytes, size',
  },
  { name: /\bhot\b/, prose: /\bhot (threads?|states?)\b/i, use: 'thread cache' },
  { name: /\btelling\b/, prose: /\btelling words?\b/i, use: 'keywords' },
  { name: /\b(nearness|closeness)\b/, prose: /\b(nearness|closeness)\b/i, use: 'distance, score, rank' },
  { name: /\bstrays?\b/, prose: /\bstrays?\b/i, use: 'uncaught error' },
  { name: /\bwhoever\b/, prose: /\bwhoever\b/i, use: 'the caller, the process, or who it is' },
];

interface Hit {
  readonly file: string;
  readonly line: number;
  readonly found: string;
  readonly use: string;
}

/**
 * The names in a file that hold a word of the list: its own, and those that it declares. What it imports or only uses is named
 * elsewhere. Names of the protos and of settings stay whatever they hold: other versions read them.
 */
export function namesIn(file: string, text: string): Hit[] {
  const own = { name: posix.basename(file).replace(/(\.test)?\.(ts|js)$/, ''), line: 1 };
  return [own, ...declaredIn(file, text)]
    .filter(({ name }) => !protoNames.has(name) && !/^[A-Z\d_]+$/.test(name))
    .flatMap(({ name, line }) => {
      const words = name.replaceAll(/([a-z\d])([A-Z])|[-_.]/g, '$1 $2').toLowerCase();
      return replaced
        .filter((word) => word.name.test(words) && !word.except?.test(file))
        .map(({ use }) => ({ file, line, found: name, use }));
    });
}

/** The places in a README, or in the comments of a code file, that hold a word of the list for prose. */
export function proseIn(file: string, text: string): Hit[] {
  return partsOf(file, text).flatMap((part) =>
    part.text.split('\n').flatMap((row, index) =>
      replaced.flatMap(({ prose, use }) => {
        const found = prose?.exec(row)?.[0];
        return found === undefined ? [] : [{ file, line: part.line + index, found, use }];
      }),
    ),
  );
}

/** Names in all code; prose in READMEs, in protos, and in the comments of code that is no test. */
export function allHits(): Hit[] {
  return [
    ...files.flatMap((file) => namesIn(file, read(file))),
    ...files.filter((file) => !tests.test(file)).flatMap((file) => proseIn(file, read(file))),
    ...pages.flatMap((page) => proseIn(page, read(page))),
  ];
}

const pages = globSync(['*.md', '{protos,services,gateway,deploy,test}/**/*.md', 'protos/*.proto'], {
  cwd: root,
  exclude: (name) => name.includes('node_modules'),
}).map((page) => page.replaceAll('\\', '/'));

/** Every field, message, RPC and service of the protos, as TypeScript spells them. */
const protoNames: ReadonlySet<string> = new Set(
  pages
    .filter((page) => page.endsWith('.proto'))
    .flatMap((page) => [...read(page).matchAll(/^\s*(?:message|service|rpc) (\w+)|(\w+) = \d+;/gm)])
    .flatMap(([, type, field = '']) => {
      const name = type ?? field.replaceAll(/_([a-z\d])/g, (_, letter: string) => letter.toUpperCase());
      return [name, name.charAt(0).toLowerCase() + name.slice(1)];
    }),
);

interface Part {
  readonly text: string;
  readonly line: number;
}

function declaredIn(file: string, text: string): { readonly name: string; readonly line: number }[] {
  return [...nodesOf(parseText(file, text))].flatMap((node) => {
    if (ts.isImportSpecifier(node) || !('name' in node)) return [];
    const name = node.name as ts.Node | undefined;
    const declares = ts.isDeclarationStatement(node) || ts.isVariableDeclaration(node) || ts.isParameter(node);
    const binds = ts.isBindingElement(node) || ts.isTypeElement(node) || ts.isClassElement(node);
    return (declares || binds) && name !== undefined && ts.isIdentifier(name)
      ? [{ name: name.text, line: lineOf(name) }]
      : [];
  });
}

/** The prose of a file, in parts of one or more lines. */
function partsOf(file: string, text: string): readonly Part[] {
  if (/\.(ts|js)$/.test(file)) return commentsIn(file, text);
  if (file.endsWith('.md')) return [{ text, line: 1 }];
  return text.split('\n').map((row, index) => ({ text: /\/\/.*/.exec(row)?.[0] ?? '', line: index + 1 }));
}

function commentsIn(file: string, text: string): Part[] {
  const source = parseText(file, text);
  const comments = new Map<number, Part>();
  for (const node of nodesOf(source)) {
    for (const { pos, end } of ts.getLeadingCommentRanges(text, node.pos) ?? []) {
      comments.set(pos, { text: text.slice(pos, end), line: source.getLineAndCharacterOfPosition(pos).line + 1 });
    }
    for (const { pos, end } of ts.getTrailingCommentRanges(text, node.end) ?? []) {
      comments.set(pos, { text: text.slice(pos, end), line: source.getLineAndCharacterOfPosition(pos).line + 1 });
    }
  }
  return [...comments.values()];
}
