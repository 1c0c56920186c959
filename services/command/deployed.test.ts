import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import test from 'ava';
import { deployedFrom } from './deployed.ts';

async function checkOf(
  files: Readonly<Record<string, string>>,
  agent = './agents/office.ts:graph',
): Promise<ReturnType<typeof deployedFrom>> {
  const folder = await mkdtemp(join(tmpdir(), 'deployed-'));
  try {
    for (const [name, text] of Object.entries({ 'agents/office.ts': '', ...files })) {
      await mkdir(dirname(join(folder, name)), { recursive: true });
      await writeFile(join(folder, name), text);
    }
    return deployedFrom({ folder, agent, agents: undefined });
  } finally {
    await rm(folder, { recursive: true });
  }
}

test('a project without lock file is warned of, and one without manifest needs none', async (t) => {
  t.deepEqual(await checkOf({}), { lines: ['lock     none', 'image    no Dockerfile'], warnings: [] });
  const { warnings } = await checkOf({ 'package.json': '{}' });
  t.regex(warnings.join(), /^there is no lock file/);
  const locked = await checkOf({ 'package.json': '{}', 'package-lock.json': '{}' });
  t.deepEqual(locked, { lines: ['lock     package-lock.json', 'image    no Dockerfile'], warnings: [] });
});

for (const [what, docker, warning] of [
  ['copies the folder', 'FROM x\nCOPY . /app\n', ''],
  ['copies the folder of the agents', 'FROM x\nCOPY agents /app/agents\nCOPY package-lock.json /app/\n', ''],
  ['copies the file, by JSON', 'FROM x\nCOPY ["./agents/office.ts", "/app/agents/"]\n', ''],
  ['copies by a pattern', 'FROM x\nCOPY --chown=node agents/*.ts \\\n  /app/agents/\n', ''],
  [
    'copies something else',
    'FROM x\nCOPY lib /app\n',
    'Dockerfile copies no "agents/office.ts", which service.json names',
  ],
  [
    'copies from another stage',
    'FROM x\nCOPY --from=build . /app\n',
    'Dockerfile copies no "agents/office.ts", which service.json names',
  ],
  [
    'installs without the lock file',
    'FROM x\nCOPY package.json /app/\nCOPY agents /app/agents\nRUN npm install\n',
    'Dockerfile installs packages and copies no package-lock.json: its image may get other versions',
  ],
] as const)
  test(`what an image would lack is found in its Dockerfile: one that ${what}`, async (t) => {
    const { warnings, lines } = await checkOf({ Dockerfile: docker, 'package-lock.json': '{}' });
    t.deepEqual(warnings, warning === '' ? [] : [warning]);
    t.is(lines[1], 'image    Dockerfile');
  });

test('an agent that is a package is copied with the packages', async (t) => {
  t.deepEqual((await checkOf({ Dockerfile: 'FROM x\n' }, 'some-package:graph')).warnings, []);
});
