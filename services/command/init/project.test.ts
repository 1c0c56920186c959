import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import test from 'ava';
import { projectFiles, type Language } from './project.ts';

interface Scripts {
  readonly pretest: string;
  readonly test: string;
}

const scriptsOf = (language: Language): Scripts => {
  const files = projectFiles({ name: 'demo', language, version: '0.1.0' });
  return (JSON.parse(files['package.json'] ?? '') as { readonly scripts: Scripts }).scripts;
};

const testCommand = (language: Language): string => scriptsOf(language).test;

/** A script of a project on this Node, with another number in `process.versions` where one is given. */
function runScript(script: string, { cwd, version }: { readonly cwd?: string; readonly version?: string }) {
  const disguise = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version ?? ''}' } });`;
  const env = {
    ...process.env,
    PATH: dirname(process.execPath) + delimiter + String(process.env['PATH']),
    ...(version !== undefined && { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(disguise)}` }),
  };
  return spawnSync(script, { ...(cwd !== undefined && { cwd }), shell: true, encoding: 'utf8', env });
}

test('a Node that is too old for a project is named before its tests run', (t) => {
  for (const language of ['ts', 'js'] as const) {
    const { pretest } = scriptsOf(language);
    for (const version of ['18.20.8', '20.20.2', '22.9.0', '22.17.1'])
      t.like(runScript(pretest, { version }), {
        ...{ status: 1, stdout: '', stderr: `Node 22.18 or newer is needed, this is ${version}\n` },
      });
    for (const version of ['22.18.0', '22.20.0', '24.0.0', '100.0.0', process.versions.node])
      t.like(runScript(pretest, { version }), { status: 0, stdout: '', stderr: '' });
  }
});

test('a project in JavaScript has no TypeScript in it', (t) => {
  const files = projectFiles({ name: 'demo', language: 'js', version: '0.1.0' });
  const code = Object.entries(files).filter(([name]) => name.endsWith('.js'));
  t.is(code.length, 2);
  for (const [name, input] of code) {
    const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '--check'], { input });
    t.is(status, 0, `${name}: ${String(stderr)}`);
  }
});

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
    const { status, stdout } = runScript(testCommand(language), { cwd: folder });
    t.is(status, 0, stdout);
    t.regex(stdout, /\btests 2\n/);
  });
}
