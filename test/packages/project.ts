import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { npmEnv, run } from '../npm.ts';

/** The path of each package's tarball. */
export type Tarballs = Readonly<Record<string, string>>;

/** Builds every package into the folder, as a release does. */
export async function packAll(folder: string): Promise<Tarballs> {
  const printed = await run(root, 'npm', 'run', '--silent', 'pack', '--', folder);
  const paths = printed.split('\n').flatMap((line) => line.split(' ').filter((word) => word.endsWith('.tgz')));
  return Object.fromEntries(paths.map((path) => [nameOf(path), path]));
}

/** What every author installs. The adapter of LangGraph.js brings the packages of LangChain, of 70 MB, as its peers. */
export const usual = (tarballs: Tarballs): string[] =>
  Object.keys(tarballs).flatMap((name) => (name === '@agent-workflow/langgraph' ? [] : (tarballs[name] ?? [])));

const root = fileURLToPath(new URL('../..', import.meta.url));

/** npm names the tarball of `@agent-workflow/graph` `agent-workflow-graph-0.1.0.tgz`. */
const nameOf = (path: string): string => `@agent-workflow/${/agent-workflow-(\w+)-[^/]*$/.exec(path)?.[1] ?? ''}`;

/** A folder outside of the repository, removed with its disposal. */
export async function openFolder(): Promise<AsyncDisposable & { readonly folder: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'author-'));
  return { folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
}

/** Has the project take our packages from their tarballs: nothing of ours is in a registry. */
export async function useTarballs(folder: string, tarballs: Tarballs): Promise<void> {
  const path = join(folder, 'package.json');
  const manifest = JSON.parse(await readFile(path, 'utf8')) as { dependencies: Record<string, string> };
  for (const name of Object.keys(manifest.dependencies)) {
    const tarball = tarballs[name];
    if (tarball !== undefined) manifest.dependencies[name] = `file:${tarball}`;
  }
  await writeFile(path, JSON.stringify(manifest, null, 2));
}

/** A command of the project that serves until its disposal. */
export interface Serving extends AsyncDisposable {
  /** Its lines so far. */
  readonly lines: readonly string[];
  readonly child: ChildProcess;
}

/** Starts `agent-workflow` with these arguments, by the file that npm linked. */
export function serve(folder: string, args: readonly string[], settings: Readonly<Record<string, string>>): Serving {
  const bin = join(folder, 'node_modules', '.bin', 'agent-workflow');
  const options = { cwd: folder, env: { ...npmEnv, ...settings } };
  const child = spawn(process.execPath, [bin, ...args], { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  const lines: string[] = [];
  for (const input of [child.stdout, child.stderr]) createInterface({ input }).on('line', (line) => lines.push(line));
  return {
    lines,
    child,
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode !== null) return;
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    },
  };
}
