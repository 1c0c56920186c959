import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readCommandLine } from '@agent-workflow/kit/command-line';
import { root } from '../generator/settings.ts';
import { build, pack } from '../pack/build.ts';
import { publications } from '../pack/packages.ts';
import { changelogFaults, packageFaults, treeFaults, versionFaults, withVersion } from './checks.ts';

/**
 * `npm run release [-- --dry-run]`: checks the tree and every package, then tags the commit and publishes the packages, in the
 * order in which they depend on each other. All faults are printed at once; with one, nothing is published. `--dry-run` only
 * checks: it takes the unreleased changes for those of the version, and a tree with changes for the committed one.
 */
const { values } = readCommandLine({
  usage: `usage: npm run release -- [--dry-run]
  Checks the tree and every package, then tags the commit and publishes the packages; --dry-run only checks`,
  options: { 'dry-run': { type: 'boolean', default: false } },
});
const isDry = values['dry-run'];
const read = (file: string): string => readFileSync(join(root, file), 'utf8');
const { version } = JSON.parse(read('package.json')) as { readonly version: string };
const written = read('CHANGELOG.md');
const changelog = isDry ? withVersion(written, version, new Date().toISOString().slice(0, 10)) : written;

const into = join(root, '.cache', 'packages');
const packed: { readonly name: string; readonly folder: string; readonly tarball: string }[] = [];
for (const publication of publications) {
  const folder = join(into, publication.folder);
  await build(publication, folder);
  packed.push({ name: publication.name, folder, tarball: pack(folder, into) });
}
const faults = [
  ...versionFaults(version),
  ...changelogFaults(version, changelog),
  ...(isDry ? [] : treeFaults(version)),
  ...packed.flatMap(({ folder, tarball }) => packageFaults(folder, tarball)),
];

if (faults.length > 0) {
  process.stderr.write(`${version} cannot be released:\n${faults.map((fault) => `- ${fault}\n`).join('')}`);
  process.exitCode = 1;
} else if (isDry) {
  process.stdout.write(`${version} could be released: ${packed.map(({ name }) => name).join(', ')}\n`);
} else {
  execFileSync('git', ['tag', '--annotate', `v${version}`, '--message', `Version ${version}`], { cwd: root });
  for (const { tarball } of packed)
    execFileSync('npm', ['publish', tarball, '--access', 'public'], { cwd: root, stdio: 'inherit' });
  process.stdout.write(`${version} is published; push its tag: git push origin v${version}\n`);
}
