import { execFileSync } from 'node:child_process';
import { globSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../generator/settings.ts';

/** What the tree is held to before a version of it is published. Each check gives its faults, one line each. */

/** Every workspace and every chart has the version of the root, whose packages depend on each other by it. */
export function versionFaults(version: string, folder = root): string[] {
  const manifests = globSync(['package.json', '{gateway,protos,test}/package.json', 'services/*/package.json'], {
    cwd: folder,
  });
  const charts = globSync('deploy/charts/*/Chart.yaml', { cwd: folder });
  const read = (file: string): string => readFileSync(join(folder, file), 'utf8');
  return [
    ...manifests.flatMap((file) => {
      const { version: own } = JSON.parse(read(file)) as { readonly version?: string };
      return own === version ? [] : [`${file}: version ${String(own)} is not ${version}`];
    }),
    ...charts.flatMap((file) =>
      [...read(file).matchAll(/^(?:version|appVersion): '?([^'\n]*)'?$/gm)].flatMap(([line, own]) =>
        own === version ? [] : [`${file}: ${line} is not ${version}`],
      ),
    ),
  ];
}

/** The changelog has a section of the version, with its day, and at least one line of what users see. */
export function changelogFaults(version: string, changelog: string): string[] {
  const heading = `## ${version} - `;
  const begin = changelog.split('\n').findIndex((line) => line.startsWith(heading));
  if (begin === -1) return [`CHANGELOG.md: there is no section "${heading}YYYY-MM-DD"`];
  const lines = changelog.split('\n').slice(begin);
  const end = lines.findIndex((line, index) => index > 0 && line.startsWith('## '));
  const section = end === -1 ? lines : lines.slice(0, end);
  return [
    ...(/^\d{4}-\d{2}-\d{2}$/.test(section[0]?.slice(heading.length) ?? '')
      ? []
      : [`CHANGELOG.md: "${section[0] ?? ''}" does not end with a day, YYYY-MM-DD`]),
    ...(section.some((line) => line.startsWith('- ')) ? [] : [`CHANGELOG.md: the section of ${version} has no line`]),
  ];
}

/** The section of the version is named with this day, as the release is to have it: what is unreleased becomes the version. */
export const withVersion = (changelog: string, version: string, day: string): string =>
  changelog.includes(`\n## ${version} - `)
    ? changelog
    : changelog.replace('\n## Unreleased\n', `\n## Unreleased\n\n## ${version} - ${day}\n`);

/** What is published is what is committed, and no release has its tag. */
export function treeFaults(version: string): string[] {
  const git = (...args: readonly string[]): string => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();
  const changed = git('status', '--porcelain');
  return [
    ...(changed === '' ? [] : [`the tree has changes that are not committed:\n${changed}`]),
    ...(git('tag', '--list', `v${version}`) === '' ? [] : [`the tag v${version} exists already`]),
  ];
}

/** What a package may take in bytes: its tarball. Larger means that something came along that does not belong there. */
const maxTarballBytes = 1_000_000;

/** A built package has what its `package.json` names, a page and a licence, and nothing but what is run or read. */
export function packageFaults(folder: string, tarball: string): string[] {
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as PackageManifest;
  const files = new Set(globSync('**/*', { cwd: folder, withFileTypes: false }));
  const named = [
    ...Object.values(manifest.exports).flatMap((entry) => Object.values(entry)),
    ...Object.values(manifest.bin ?? {}),
    ...['README.md', 'LICENSE'],
  ].map((path) => path.replace(/^\.\//, ''));
  const { size } = statSync(tarball);
  const { name } = manifest;
  return [
    ...named.filter((path) => !files.has(path)).map((path) => `${name}: ${path} is missing`),
    ...[...files].filter(isSource).map((path) => `${name}: ${path} is source`),
    ...(size <= maxTarballBytes ? [] : [`${name}: the tarball has ${size} bytes, more than ${maxTarballBytes}`]),
  ];
}

/** Whether a file of the tree came along that is not published. Those of a new project are what its author gets. */
const isSource = (path: string): boolean =>
  /(?<!\.d)\.ts$|\.test\.|\.map$/.test(path) && !path.includes('/init/template/');

interface PackageManifest {
  readonly name: string;
  readonly exports: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly bin?: Readonly<Record<string, string>>;
}
