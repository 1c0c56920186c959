import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import ts from 'typescript';

const root = fileURLToPath(new URL('../..', import.meta.url));
const pages = ['README.md', 'services/graph/README.md', 'services/graph/LANGGRAPH.md', 'test/cookbook/README.md'];

/** The modules that a page shows whole, and that import only packages of ours. */
function examplesIn(page: string): string[] {
  const blocks = [...readFileSync(join(root, page), 'utf8').matchAll(/^ *```ts\n(.*?)^ *```$/gms)];
  return blocks.flatMap(([, block = '']) => (/^import .* from '@agent-workflow\//s.test(block) ? [block] : []));
}

/** What the compiler finds in modules that exist only here; they stand at the root, where imports find the packages. */
function faultsIn(modules: readonly string[]): string[] {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.base.json'), (path) => readFileSync(path, 'utf8')) as {
    config: object;
  };
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: [] }, ts.sys, root);
  const texts = new Map(modules.map((text, index) => [join(root, `example-${String(index)}.ts`), text]));
  const disk = ts.createCompilerHost(options);
  const host: ts.CompilerHost = {
    ...disk,
    fileExists: (path) => texts.has(path) || disk.fileExists(path),
    getSourceFile: (path, version, ...rest) => {
      const text = texts.get(path);
      return text === undefined ? disk.getSourceFile(path, version, ...rest) : ts.createSourceFile(path, text, version);
    },
  };
  const program = ts.createProgram([...texts.keys()], { ...options, incremental: false, noUnusedLocals: false }, host);
  return [...texts.keys()].flatMap((path) =>
    ts
      .getPreEmitDiagnostics(program, program.getSourceFile(path))
      .map(({ messageText }) => `${ts.flattenDiagnosticMessageText(messageText, ' ')}\n${texts.get(path) ?? ''}`),
  );
}

test('every module that the pages for authors show type-checks', (t) => {
  t.timeout(120_000);
  t.is(faultsIn([`import { END } from '@agent-workflow/graph'; export const end: number = END;`]).length, 1);
  const examples = pages.flatMap(examplesIn);
  t.true(examples.length >= 20);
  t.deepEqual(faultsIn(examples), []);
});

test('the guide begins with ten lines that run and print what their comment shows', (t) => {
  const [first = ''] = examplesIn('services/graph/README.md');
  const lines = first.trimEnd().split('\n');
  t.is(lines.length, 10);
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module-typescript', '--eval', first], {
    cwd: root,
    encoding: 'utf8',
  });
  t.is(stdout.trim(), lines.at(-1)?.split('// ')[1] ?? '', stderr);
});
