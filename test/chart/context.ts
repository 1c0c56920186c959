import { cp, readFile, symlink } from 'node:fs/promises';
import { join, matchesGlob, relative } from 'node:path';
import { root } from './root.ts';

/**
 * Copies what a build of the image sees, after `.dockerignore`, with the packages of the repository in place of `npm ci`: what is
 * missing there is missing in the build.
 */
export async function copyContext(into: string): Promise<void> {
  const lines = (await readFile(join(root, '.dockerignore'), 'utf8')).split('\n');
  const patterns = lines.filter((line) => line !== '' && !line.startsWith('#'));
  await cp(root, into, {
    recursive: true,
    filter: (path) => {
      const name = relative(root, path);
      return name === '' || isSeen(name, patterns) || patterns.some((pattern) => pattern.startsWith(`!${name}/`));
    },
  });
  await symlink(join(root, 'node_modules'), join(into, 'node_modules'));
}

/** The last pattern that matches a path, or a folder of it, decides. Globs of Node leave names with a leading dot out. */
function isSeen(name: string, patterns: readonly string[]): boolean {
  const above = name.split('/').map((_, index, parts) => parts.slice(0, index + 1).join('/'));
  const last = patterns.findLast(
    (pattern) => pattern === '*' || above.some((each) => matchesGlob(each, pattern.replace(/^!/, ''))),
  );
  return last?.startsWith('!') ?? true;
}
