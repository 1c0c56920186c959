import { cpSync, globSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { root } from '../generator/settings.ts';
import { relinked, type Places } from './links.ts';

/** Copies pages and folders into a package. Links in the pages are made to lead to files of the package. */
export function copyPages(places: Places, into: string): void {
  for (const [from, to] of Object.entries(places)) {
    const isFolder = statSync(join(root, from)).isDirectory();
    const files = isFolder ? globSync('**/*.{md,ts,js,json}', { cwd: join(root, from), exclude: isInstalled }) : [''];
    for (const file of files) copyPage(join(from, file), join(into, to, file), places);
  }
}

const isInstalled = (name: string): boolean => /(^|\/)(node_modules|package-lock\.json)(\/|$)/.test(name);

function copyPage(path: string, target: string, places: Places): void {
  mkdirSync(dirname(target), { recursive: true });
  if (path.endsWith('.md'))
    writeFileSync(target, relinked(readFileSync(join(root, path), 'utf8'), posix.normalize(path), places));
  else cpSync(join(root, path), target);
}
