import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { watchSources } from './sources.ts';

interface Watched {
  readonly folder: string;
  /** The next file that changes. */
  readonly next: () => Promise<string | undefined>;
}

async function openWatched(t: ExecutionContext): Promise<Watched> {
  const folder = await mkdtemp(join(tmpdir(), 'agent-workflow-sources-'));
  await mkdir(join(folder, 'tools'));
  await mkdir(join(folder, 'node_modules'));
  for (const file of ['agent.ts', 'tools/find.ts']) await writeFile(join(folder, file), '1');
  const sources = await watchSources(folder, (error) => t.fail(error.message));
  t.teardown(async () => {
    await sources[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });
  return { folder, next: () => sources.next(AbortSignal.timeout(20_000)) };
}

test('each save of a file is seen, also by editors that put a new file in its place', async (t) => {
  const { folder, next } = await openWatched(t);
  for (const [index, file] of ['agent.ts', 'agent.ts', 'tools/find.ts', 'agent.ts', 'tools/find.ts'].entries()) {
    const seen = next();
    await writeFile(join(folder, `${file}~`), `saved ${String(index)}`);
    await rename(join(folder, `${file}~`), join(folder, file));
    t.is(await seen, file);
  }
  const written = next();
  await writeFile(join(folder, 'agent.ts'), 'written in place');
  t.is(await written, 'agent.ts');
});

test('new files and .env are seen; packages, hidden files and other kinds of files are not', async (t) => {
  const { folder, next } = await openWatched(t);
  const seen = next();
  for (const file of ['node_modules/x.js', '.hidden.ts', 'notes.md', 'agent.sqlite'])
    await writeFile(join(folder, file), '1');
  await writeFile(join(folder, '.env'), 'A=1');
  t.is(await seen, '.env');
  const second = next();
  await mkdir(join(folder, 'new'));
  await writeFile(join(folder, 'new', 'more.ts'), '1');
  t.is(await second, join('new', 'more.ts'));
});

test('nothing more is waited for once the signal fires', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'agent-workflow-sources-'));
  await using sources = await watchSources(folder, () => undefined);
  t.is(await sources.next(AbortSignal.abort()), undefined);
  t.is(await sources.next(AbortSignal.timeout(1)), undefined);
  await rm(folder, { recursive: true });
});
