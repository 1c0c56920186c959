import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import test from 'ava';
import { projectFiles, type Language } from './project.ts';

const testCommand = (language: Language): string => {
  const files = projectFiles({ name: 'demo', language, version: '0.1.0' });
  const { scripts } = JSON.parse(files['package.json'] ?? '') as { readonly scripts: { readonly test: string } };
  return scripts.test;
};

test('the tests of a project in TypeScript are named by a pattern, which a Node without TypeScript does not find', (t) => {
  t.is(testCommand('ts'), 'node --test "**/*.test.{ts,js}"');
  t.is(testCommand('js'), 'node --test');
});

for (const language of ['ts', 'js'] as const) {
  test(`the test command of a project runs all its tests, and none of its packages: ${language}`, async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'project-'));
    t.teardown(() => rm(folder, { recursive: true }));
    await writeFile(join(folder, 'package.json'), '{"type":"module"}');
    for (const path of ['.', 'tools', 'node_modules/other']) {
      await mkdir(join(folder, path), { recursive: true });
      const text = `import test from 'node:test';\ntest('one', () => {});\n`;
      await writeFile(join(folder, path, `agent.test.${language}`), text);
    }
    const path = dirname(process.execPath) + delimiter + String(process.env['PATH']);
    const { status, stdout } = spawnSync(testCommand(language), {
      ...{ cwd: folder, shell: true, encoding: 'utf8', env: { ...process.env, PATH: path } },
    });
    t.is(status, 0, stdout);
    t.regex(stdout, /\btests 2\n/);
  });
}
