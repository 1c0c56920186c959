import { execFileSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readCommandLine } from '@agent-workflow/kit/command-line';
import { root } from '../generator/settings.ts';
import { build, pack } from './build.ts';
import { publications } from './packages.ts';

/** `npm run pack [folder]`: builds each package that outsiders install, and its tarball, into `.cache/packages` or the folder. */
const {
  positionals: [folder],
} = readCommandLine({
  usage: `usage: npm run pack -- [FOLDER]
  Builds each package that outsiders install, and its tarball (into .cache/packages)`,
  most: 1,
});
const into = resolve(folder ?? join(root, '.cache', 'packages'));
execFileSync(process.execPath, [join(root, 'services/playground/build.ts')], { stdio: 'inherit' });
for (const publication of publications) {
  const built = join(into, publication.folder);
  await build(publication, built);
  const tarball = pack(built, into);
  process.stdout.write(`${tarball} ${(statSync(tarball).size / 1e3).toFixed(0)} kB\n`);
}
