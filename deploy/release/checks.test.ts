import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { changelogFaults, packageFaults, versionFaults, withVersion } from './checks.ts';

function openTree(t: ExecutionContext, files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'release-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
  return folder;
}

test('a workspace or a chart of another version stops a release by its file', (t) => {
  const folder = openTree(t, {
    'package.json': '{"version":"1.2.0"}',
    'services/graph/package.json': '{"version":"1.1.0"}',
    'deploy/charts/gateway/Chart.yaml': "version: 1.2.0\nappVersion: '1.0.0'\n",
  });
  t.deepEqual(versionFaults('1.2.0', folder), [
    'services/graph/package.json: version 1.1.0 is not 1.2.0',
    "deploy/charts/gateway/Chart.yaml: appVersion: '1.0.0' is not 1.2.0",
  ]);
  t.deepEqual(versionFaults('0.1.0'), [], 'this tree');
});

test('a release has a section of its own in the changelog, with its day and what users see', (t) => {
  const written = '# Changelog\n\n## Unreleased\n\n### Added\n\n- More.\n';
  t.regex(changelogFaults('1.2.0', written).join(), /no section "## 1\.2\.0 - YYYY-MM-DD"/);
  t.deepEqual(changelogFaults('1.2.0', withVersion(written, '1.2.0', '2026-11-22')), []);
  t.regex(changelogFaults('1.2.0', '# Changelog\n\n## 1.2.0 - soon\n\n- More.\n').join(), /does not end with a day/);
  const empty = '# Changelog\n\n## 1.2.0 - 2026-11-22\n\n## 1.1.0 - 2026-11-01\n\n- Less.\n';
  t.regex(changelogFaults('1.2.0', empty).join(), /has no line/);
});

test('a package without a file that it names, or with sources, is not published', (t) => {
  const folder = openTree(t, {
    'package.json': JSON.stringify({ name: 'a', exports: { '.': { types: './index.d.ts', default: './index.js' } } }),
    ...{ 'index.js': '', 'README.md': '', 'index.ts': '', 'index.test.js': '', 'a.tgz': '' },
  });
  t.deepEqual(packageFaults(folder, join(folder, 'a.tgz')).toSorted(), [
    'a: LICENSE is missing',
    'a: index.d.ts is missing',
    'a: index.test.js is source',
    'a: index.ts is source',
  ]);
});
