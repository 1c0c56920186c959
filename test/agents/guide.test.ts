import { execFile, spawnSync, type SpawnSyncReturns } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test from 'ava';
import ts from 'typescript';
import { startOpenaiChat } from '../servers/openai-chat.ts';
import { byLoad } from '../by-load.ts';

const execute = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));
const pages = [
  ...['README.md', 'services/graph/README.md', 'services/graph/LANGGRAPH.md', 'services/langgraph/README.md'],
  'test/cookbook/README.md',
  ...globSync(['gateway/guide/*.md', 'services/graph/guide/*.md'], { cwd: root }),
];

/** The modules that a page shows whole, and that import packages of ours or the client of LangGraph. */
function examplesIn(page: string): string[] {
  const blocks = [...readFileSync(join(root, page), 'utf8').matchAll(/^ *```ts\n(.*?)^ *```$/gms)];
  return blocks.flatMap(([, block = '']) =>
    /^import .* from '@(?:agent-workflow\/|langchain\/langgraph-sdk')/s.test(block) ? [block] : [],
  );
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

const isTest = (example: string): boolean => example.includes(`from 'node:test'`);

/** Runs a module that exists only here, with the packages of the root. */
const runExample = (text: string): SpawnSyncReturns<string> =>
  spawnSync(process.execPath, ['--input-type=module-typescript', '--eval', text], { cwd: root, encoding: 'utf8' });

test('every module that the guides show type-checks', (t) => {
  t.timeout(byLoad(120_000));
  t.is(faultsIn([`import { END } from '@agent-workflow/graph'; export const end: number = END;`]).length, 1);
  const examples = pages.flatMap(examplesIn);
  t.true(examples.length >= 30);
  t.deepEqual(faultsIn(examples), []);
});

for (const page of ['services/graph/README.md', 'services/langgraph/README.md'])
  test(`${page} begins with ten lines that run and print what their comment shows`, (t) => {
    const [first = ''] = examplesIn(page);
    const lines = first.trimEnd().split('\n');
    t.is(lines.length, 10);
    const { stdout, stderr } = runExample(first);
    t.is(stdout.trim(), lines.at(-1)?.split('// ')[1] ?? '', stderr);
  });

test('its agent with a model and two tools takes 15 lines and runs', async (t) => {
  const [, agent = ''] = examplesIn('services/graph/README.md');
  t.true(agent.trimEnd().split('\n').length <= 15);
  t.is([...agent.matchAll(/\btool\(\{/g)].length, 2);
  await using model = await startOpenaiChat([
    { calls: [{ id: 'c1', name: 'time', json: '{"zone":"UTC"}' }] },
    { text: 'It is late.' },
  ]);
  const asked = agent.replace("model: 'gpt-5-mini'", `model: 'gpt-5-mini', baseUrl: '${model.baseUrl}'`);
  const main = `${asked}
    const { textOf } = await import('@agent-workflow/graph');
    const { user, walk } = await import('@agent-workflow/graph/testing');
    const { state } = await walk(graph, { context: [user('How late is it?')] });
    console.log(state.context.map(textOf).at(-1));`;
  const evaluated = ['--input-type=module-typescript', '--eval', main];
  const { stdout } = await execute(process.execPath, evaluated, { cwd: root });
  t.is(stdout.trim(), 'It is late.');
  const [first, second] = model.requests;
  t.deepEqual(
    first?.body.tools?.map((each) => each.function.name),
    ['weather', 'time'],
  );
  t.regex(JSON.stringify(second?.body.messages.at(-1)), /\d:\d\d:\d\d/);
});

for (const [index, example] of examplesIn('services/graph/guide/tests.md').filter(isTest).entries()) {
  test(`the tests that the guide shows in example ${String(index + 1)} pass`, (t) => {
    const { status, stdout } = runExample(example);
    t.is(status, 0, stdout);
    t.regex(stdout, /^. pass [1-9]/m);
  });
}

test('an example of the guide that fails is found', (t) => {
  t.not(runExample(`import { test } from 'node:test'; test('x', () => { throw new Error('x'); });`).status, 0);
});
