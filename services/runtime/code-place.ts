import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Where code stands, as `/folder/agent.ts:12:7`: file, line and column, both from 1. */
type CodePlace = string;

/** A module that was asked for, and the files that were loaded with it, in their order. */
interface LoadedFiles {
  readonly module: string;
  readonly files: readonly string[];
}

/**
 * Where the code stands that threw while a module was loaded: in the module itself where its stack leads there, else in
 * what it imports. `undefined` when it cannot be found.
 */
export async function placeOfError(error: unknown, loaded: LoadedFiles): Promise<CodePlace | undefined> {
  if (!(error instanceof Error)) return undefined;
  const text = error.stack ?? '';
  return (
    placeAtTop(text) ??
    placeOfImport(error) ??
    placeInStack(text, loaded.module) ??
    (await placeInSyntax(error, loaded))
  );
}

/**
 * Where the code of an author stands that threw: the first place of the stack, or of that of a cause, that is neither of the service nor of a
 * package. `undefined` when there is none, as of a value that is no error.
 */
export function placeOfThrown(error: unknown): CodePlace | undefined {
  try {
    let thrown = error;
    for (let causes = 0; thrown instanceof Error && causes < maxCauses; causes++) {
      const { stack } = thrown as { readonly stack?: unknown };
      const found = typeof stack === 'string' ? placesIn(stack).find((each) => !isOwn(each)) : undefined;
      if (found !== undefined) return found;
      thrown = thrown.cause;
    }
  } catch {
    // A thrown value may refuse to be read.
  }
  return undefined;
}

const maxCauses = 8;

/** Where a file exports a name; where its first export stands when it does not, or its first line. */
export function placeOfExport(file: string, name?: string): CodePlace {
  const lines = readLines(file);
  for (const [index, line] of lines.entries()) {
    const start = line.search(/\bexport\b/);
    if (start === -1) continue;
    if (name === undefined) return place(file, index, start);
    const word = exportedIn(line.slice(start)).find(([found]) => found === name);
    if (word) return place(file, index, start + word.index);
  }
  return name === undefined ? place(file, 0, 0) : placeOfExport(file);
}

/** The words of a line from `export` on that may be names of exports: those of a list, or the one that is declared. */
function exportedIn(line: string): readonly RegExpExecArray[] {
  const words = [...line.matchAll(/[\w$]+/g)].filter(([word]) => !declaring.has(word));
  return line.includes('{') && line.indexOf('{') < (words[0]?.index ?? 0) ? words : words.slice(0, 1);
}

const declaring = new Set(['export', 'const', 'let', 'var', 'async', 'function', 'class', 'as']);

const place = (file: string, line: number, column: number): CodePlace =>
  `${file}:${String(line + 1)}:${String(column + 1)}`;

/** Node writes the place of a syntax error above the stack: the file and line, the line itself, and a mark below it. */
function placeAtTop(text: string): CodePlace | undefined {
  const [top = '', ...rest] = text.split('\n');
  const colon = top.lastIndexOf(':');
  const file = toFile(top.slice(0, colon));
  const line = Number(top.slice(colon + 1));
  if (file === undefined || !Number.isInteger(line) || line < 1) return undefined;
  const mark = rest.slice(0, linesAbove).find((each) => /^ *\^+ *$/.test(each));
  return place(file, line - 1, Math.max(0, mark?.indexOf('^') ?? 0));
}

/** So many lines stand above a stack at most. */
const linesAbove = 10;

/** A module that is not there: where it is imported. */
function placeOfImport(error: Error): CodePlace | undefined {
  if (!('code' in error) || error.code !== 'ERR_MODULE_NOT_FOUND') return undefined;
  const from = error.message.lastIndexOf(importedFrom);
  if (from === -1) return undefined;
  const file = error.message.slice(from + importedFrom.length);
  const wanted =
    error.message
      .slice(0, from)
      .split(/[/'"]/)
      .findLast((part) => part !== '') ?? '';
  const lines = readLines(file);
  const line = lines.findIndex((each) => each.includes(wanted));
  return line === -1 ? undefined : place(file, line, lines[line]?.indexOf(wanted) ?? 0);
}

const importedFrom = ' imported from ';

/** The service's own code, which an author's code calls. */
const own = resolve(dirname(fileURLToPath(import.meta.url)), '..');

function placeInStack(text: string, module: string): CodePlace | undefined {
  const places = placesIn(text);
  return places.find((each) => each.startsWith(`${module}:`)) ?? places.find((each) => !isOwn(each)) ?? places[0];
}

const placesIn = (text: string): readonly CodePlace[] => text.split('\n').flatMap((line) => placeOfFrame(line) ?? []);

const isOwn = (each: CodePlace): boolean => each.startsWith(`${own}/`) || each.includes('/node_modules/');

/** What a line of a stack names: `    at name (file:///folder/agent.ts:12:7)`, or without the name. */
function placeOfFrame(line: string): CodePlace | undefined {
  if (!line.startsWith('    at ')) return undefined;
  const named = line.slice(line.lastIndexOf('(') + 1 || line.lastIndexOf(' ') + 1).replace(')', '');
  const column = named.lastIndexOf(':');
  const file = toFile(named.slice(0, named.lastIndexOf(':', column - 1)));
  return file && `${file}${named.slice(named.lastIndexOf(':', column - 1))}`;
}

const checkMs = 5000;
/** Node is asked about so many files at most: the last that were loaded come first. */
const maxChecks = 20;

/** Node keeps the place of a syntax error in a module of JavaScript to itself, but names it when asked to check the file. */
async function placeInSyntax({ message }: Error, { files }: LoadedFiles): Promise<CodePlace | undefined> {
  for (const file of files.toReversed().slice(0, maxChecks)) {
    const output = await checkSyntax(file);
    if (output.includes(message)) return placeAtTop(output);
  }
  return undefined;
}

async function checkSyntax(file: string): Promise<string> {
  return new Promise((done) => {
    execFile(process.execPath, ['--check', file], { timeout: checkMs }, (_error, _out, errors) => done(errors));
  });
}

function toFile(text: string): string | undefined {
  if (text.startsWith('file://')) return URL.canParse(text) ? fileURLToPath(text) : undefined;
  return text.startsWith('/') ? text : undefined;
}

function readLines(file: string): readonly string[] {
  try {
    return readFileSync(file, 'utf8').split('\n');
  } catch {
    return [];
  }
}
