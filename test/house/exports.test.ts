import test from 'ava';
import { idleExports } from './idle-exports.ts';
import { parseText } from './parse.ts';
import { grown, perFile, readLeft, stale } from './shrinking.ts';

test('an export that nobody imports, or only a test, is found', (t) => {
  const tree: Readonly<Record<string, string>> = {
    'gateway/a.ts': `export const used = 1, idle = 2; export interface Tested {} export function typed() {}`,
    'gateway/b.ts': `import { used } from './a.ts'; type T = ReturnType<typeof import('./a.ts').typed>;`,
    'gateway/c.ts': `export * as all from './d.ts'; const { late } = await import('./e.ts');`,
    'gateway/d.ts': `export type { Whole } from './e.ts'; export const one = 1;`,
    'gateway/e.ts': `export interface Whole {} export const late = 1, never = 2;`,
    'gateway/a.test.ts': `import type { Tested } from './a.ts';`,
    'gateway/app.ts': `export const outside = 1, beside = 2;`,
    'gateway/app.test.ts': `import { beside } from './app.ts';`,
    'test/http/a.test.ts': `import { outside } from '@agent-workflow/gateway/app';`,
  };
  const found = idleExports(Object.keys(tree), (file) => parseText(file, tree[file] ?? ''));
  t.deepEqual(
    found.map(({ file, name, importers }) => `${file} ${name} ${importers}`),
    [
      'gateway/a.ts idle nobody',
      'gateway/a.ts Tested tests',
      'gateway/e.ts never nobody',
      'gateway/app.ts beside tests',
    ],
  );
});

test('no file has more exports without an importer that is no test than it had', (t) => {
  const { exports } = readLeft();
  const now = perFile(idleExports());
  t.deepEqual(grown(now, exports), []);
  if (stale(now, exports).length > 0) t.log(`fewer than allowed: ${stale(now, exports).join(', ')}`);
});
