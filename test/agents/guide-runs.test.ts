import { execFile } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test from 'ava';
import { byLoad } from '../by-load.ts';

const execute = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));

/** A module that a page shows, and what the page says that it prints. */
interface Example {
  readonly code: string;
  readonly output: string;
}

/** The modules of a page. Tests are run where tests are; a part of a module is none. */
const examplesOf = (markdown: string): readonly Example[] =>
  [...markdown.matchAll(/^ *```ts\n(.*?)^ *```\n(?:```\n(.*?)^```\n)?/gms)]
    .map(([, code = '', output = '']) => ({ code, output }))
    .filter(({ code }) => code.includes(`from '@agent-workflow/`) && !code.includes(`from 'node:test'`));

/** Answers as a model, as a shop and as a server of models do, so that an example asks nobody. */
const answers = `
  globalThis.fetch = async () => Response.json({
    choices: [{ index: 0, message: { role: 'assistant', content: '{"mood":"good"}' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 1, completion_tokens: 1 }, response: 'Hello.', prompt_eval_count: 1, eval_count: 1,
  });
`;

/** Runs the graph that the module exports: to its end, or until it waits. */
const walked = `
  const kit = await import('@agent-workflow/graph/testing');
  const content = [{ type: 'text', text: 'Hello' }, { type: 'document', file_id: 'file-1' }];
  const run = { memory: kit.fakeMemory(), files: kit.fakeFiles({ filename: 'notes.txt', data: 'one' }) };
  const { ended } = await kit.walk(graph, { context: [{ ...kit.user('Hello'), content }], run });
  if (ended === 'max_steps') throw new Error('the graph does not end');
`;

/** What a module prints that exists only here, with the packages of the root. @throws Error with what it said when it fails. */
async function outputOf(code: string): Promise<string> {
  const main = `${code}\n${answers}\n${code.includes('export const graph =') ? walked : ''}`;
  const { stdout } = await execute(process.execPath, ['--input-type=module-typescript', '--eval', main], { cwd: root });
  return stdout;
}

for (const page of globSync('services/graph/guide/*.md', { cwd: root })) {
  const examples = examplesOf(readFileSync(`${root}${page}`, 'utf8'));
  if (examples.length === 0) continue;
  test(`every module of ${page} runs, and prints what the page shows`, async (t) => {
    t.timeout(byLoad(120_000));
    for (const { code, output } of examples) t.is(await outputOf(code), output, code);
  });
}

test('each page of the guide for authors but the list of all parts shows code that is run', (t) => {
  const without = globSync('services/graph/guide/*.md', { cwd: root }).filter((page) => {
    const markdown = readFileSync(`${root}${page}`, 'utf8');
    return examplesOf(markdown).length === 0 && !markdown.includes(`from 'node:test'`);
  });
  t.deepEqual(without, ['services/graph/guide/parts.md']);
});

test('a module that fails, or prints something else, is found', async (t) => {
  await t.throwsAsync(outputOf(`throw new Error('x');`));
  t.is(await outputOf(`console.log('x')`), 'x\n');
});
