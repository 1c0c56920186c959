import { readdirSync } from 'node:fs';
import { posix } from 'node:path';
import test from 'ava';
import { files, root, tests } from './tree.ts';

test('kit is a closed list', (t) => {
  const known = [
    'agents.ts',
    'command-line.ts',
    'contained.ts',
    'cursors.ts',
    'each.ts',
    'env.ts',
    'errors.ts',
    'first-of-kind.ts',
    'fold-text.ts',
    'host-port.ts',
    'ids.ts',
    'keyed-lock.ts',
    'life.ts',
    'log-text.ts',
    'log.ts',
    'logged-error.ts',
    'mark.ts',
    'pages.ts',
    'request-context.ts',
    'retry.ts',
    'seal.ts',
    'short-lived.ts',
    'sizes.ts',
    'sse.ts',
    'uuid.ts',
    'warnings.ts',
    'yielder.ts',
  ];
  const kit = files.filter((file) => file.startsWith('services/kit/') && !tests.test(file));
  t.deepEqual(kit.map((file) => file.slice('services/kit/'.length)).toSorted(), known);
});

test('the top level is a closed list', (t) => {
  const known = new Set(
    'package.json package-lock.json ava.config.js tsconfig.base.json service.json README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md LICENSE protos services gateway deploy test'.split(
      ' ',
    ),
  );
  const ignored = /^\.|^node_modules$|^coverage$|\.log$/;
  t.deepEqual(
    readdirSync(root).filter((name) => !known.has(name) && !ignored.test(name)),
    [],
  );
});

test('files are named in kebab-case, for what they export', (t) => {
  const name = /^[a-z0-9]+([-.][a-z0-9]+)*\.(tsx?|js)$/;
  const nothing = /^(utils?|types?|helpers?|common-utils|misc)\.ts$/;
  const bad = (file: string): boolean => !name.test(posix.basename(file)) || nothing.test(posix.basename(file));
  t.deepEqual(['a/utils.ts', 'a/RunLog.ts', 'a/run_log.ts', 'a/run-log.ts', 'a/graph.stream.ts'].map(bad), [
    true,
    true,
    true,
    false,
    false,
  ]);
  t.deepEqual(files.filter(bad), []);
});
