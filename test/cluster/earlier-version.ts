import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { root } from '../chart/root.ts';
import { npmEnv } from '../npm.ts';
import { serversFolder } from '../servers/provisioned.ts';

/** What a team installs to have its agents served. */
const installed = /agent-workflow-(?:graph|server)-[^/]*\.tgz$/;

/** The hash of a commit; `undefined` when this clone does not have it. */
export function commitOf(ref: string): string | undefined {
  try {
    return run(root, 'git', 'rev-parse', '--verify', '--quiet', `${ref}^{commit}`).trim();
  } catch {
    return undefined;
  }
}

/**
 * Makes a project outside of the repository, with the packages of a commit from its tarballs, and below `test/agents` the agents of that
 * commit, with those of this tree that it has not. The packages are built once for each commit. Disposal removes the project.
 */
export function makeEarlierProject(commit: string): Disposable & { readonly folder: string } {
  const built = builtFrom(commit);
  const folder = mkdtempSync(join(tmpdir(), 'earlier-version-'));
  for (const name of ['package.json', 'node_modules']) symlinkSync(join(built, name), join(folder, name));
  cpSync(join(root, 'test/agents/pooled.ts'), join(folder, 'test/agents/pooled.ts'));
  cpSync(join(built, 'test'), join(folder, 'test'), { recursive: true });
  return { folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) };
}

/** The folder with the packages and the agents of a commit: there whole or not at all. */
function builtFrom(commit: string): string {
  const place = join(dirname(serversFolder()), 'packages', commit);
  if (existsSync(place)) return place;
  const scratch = mkdtempSync(join(tmpdir(), 'earlier-packages-'));
  try {
    const [tree, tarballs, project] = ['tree', 'tarballs', 'project'].map((name) => join(scratch, name)) as [
      string,
      string,
      string,
    ];
    run(root, 'git', 'clone', '--quiet', '--shared', '--no-checkout', '.', tree);
    run(tree, 'git', 'checkout', '--quiet', commit);
    run(tree, 'npm', 'ci', '--no-audit', '--no-fund');
    const printed = run(tree, 'npm', 'run', '--silent', 'pack', '--', tarballs);
    const paths = printed.split(/\s/).filter((word) => installed.test(word));
    mkdirSync(project);
    writeFileSync(join(project, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
    run(project, 'npm', 'install', '--no-audit', '--no-fund', ...paths);
    cpSync(join(tree, 'test/agents'), join(project, 'test/agents'), { recursive: true });
    mkdirSync(dirname(place), { recursive: true });
    // Another file system than that of temporary folders.
    const beside = mkdtempSync(`${place}-`);
    cpSync(project, beside, { recursive: true, verbatimSymlinks: true });
    renameSync(beside, place);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  return place;
}

function run(cwd: string, command: string, ...args: readonly string[]): string {
  return execFileSync(command, [...args], { cwd, env: npmEnv, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
}
