import { execFileSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { root } from '../generator/settings.ts';
import { build, pack } from './build.ts';
import { publications } from './packages.ts';

/** `npm run pack [folder]`: builds each package that outsiders install, and its tarball, into `.cache/packages` or the folder. */
const into = resolve(process.argv[2] ?? join(root, '.cache', 'packages'));
execFileSync(process.execPath, [join(root, 'services/playground/build.ts')], { stdio: 'inherit' });
for (const publication of publications) {
  const folder = join(into, publication.folder);
  await build(publication, folder);
  const tarball = pack(folder, into);
  process.stdout.write(`${tarball} ${(statSync(tarball).size / 1e3).toFixed(0)} kB\n`);
}
