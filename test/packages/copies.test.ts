import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { isRunFailure } from '@agent-workflow/graph/state/failure';
import type { CompiledGraph } from '@agent-workflow/graph';
import { user, walk } from '@agent-workflow/graph/testing';
import test from 'ava';

const root = fileURLToPath(new URL('../..', import.meta.url));

const agent = `
import { END, interrupt, START, StateGraph } from './graph/index.ts';
import { RunFailure } from './graph/state/failure.ts';

export const asking = new StateGraph({})
  .addNode('ask', (_state, { emit }) => emit('hello ' + String(interrupt('who?'))))
  .addEdge(START, 'ask')
  .addEdge('ask', END)
  .compile();

export const failing = new StateGraph({})
  .addNode('fail', () => {
    throw new RunFailure('GraphFailed', 'too much', { node: 'elsewhere' });
  })
  .addEdge(START, 'fail')
  .addEdge('fail', END)
  .compile();
`;

/** An agent that is written against a copy of the library which is not the one of this process. */
async function loadAgent(folder: string): Promise<Readonly<Record<'asking' | 'failing', CompiledGraph>>> {
  cpSync(join(root, 'services/graph'), join(folder, 'graph'), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const file = join(folder, 'agent.ts');
  writeFileSync(file, agent);
  return (await import(pathToFileURL(file).href)) as Awaited<ReturnType<typeof loadAgent>>;
}

test('an agent with a copy of the library of its own asks, is answered, and fails as any other', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'copies-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const { asking, failing } = await loadAgent(folder);
  const asked = await walk(asking, { context: [user('hi')] });
  t.true(asked.waiting);
  t.deepEqual(
    asked.interrupts.map(({ node, value }) => [node, value]),
    [['ask', 'who?']],
  );
  const failure = await t.throwsAsync(walk(failing));
  t.true(isRunFailure(failure) && failure.node === 'elsewhere');
  t.is(failure.message, 'too much');
});
