import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import test from 'ava';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Everything that somebody starts by `npm run` or by `node`; those of `package.json` that are `ava` or another tool have its help. */
const commands: readonly (readonly [file: string, ...words: string[]])[] = [
  ['services/standalone/main.ts'],
  ['services/threads/main.ts'],
  ['services/threads/migrate.ts'],
  ['services/execution/main.ts'],
  ['services/memory/main.ts'],
  ['services/memory/export.ts'],
  ['services/memory/import.ts'],
  ['services/memory/reindex.ts'],
  ['gateway/main.ts'],
  ['services/command/main.ts', 'start'],
  ['services/command/main.ts', 'check'],
  ['services/command/main.ts', 'agents'],
  ['services/command/main.ts', 'init'],
  ['services/command/main.ts', 'dev'],
  ['services/playground/build.ts'],
  ['protos/generate.ts'],
  ['deploy/generate.ts'],
  ['deploy/pack/main.ts'],
  ['deploy/release/main.ts'],
  ['test/bench/main.ts'],
  ['test/bench/cluster-main.ts'],
  ['test/chart/write-golden.ts'],
  ['test/cluster/upgrade-main.ts'],
  ['test/fuzz/main.ts'],
  ['test/kill/main.ts'],
  ['test/servers/cluster-main.ts'],
  ['test/servers/provision.ts'],
];

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
  /** What it has made where its data would be. */
  readonly made: readonly string[];
}

async function run(words: readonly string[]): Promise<Ended> {
  const folder = mkdtempSync(join(tmpdir(), 'usage-'));
  try {
    const [file = '', ...rest] = words;
    const env = { ...process.env, DATA_DIR: join(folder, 'data'), XDG_CACHE_HOME: folder, PORT: '0' };
    const child = spawn(process.execPath, [join(root, file), ...rest], {
      env,
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const [out, err, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'close') as Promise<[number | null]>,
    ]);
    return { code, out, err, made: readdirSync(folder).filter((name) => name !== 'agent-workflow') };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

for (const command of commands) {
  const name = command.join(' ');
  test.serial(
    `${name} prints its usage for --help, and names an option that it does not have, and does nothing else`,
    async (t) => {
      const help = await run([...command, '--help']);
      t.deepEqual([help.code, help.err, help.made], [0, '', []]);
      t.regex(help.out, /^(usage: |agent-workflow )\S/);
      const unknown = await run([...command, '--no-such-option']);
      t.deepEqual([unknown.code, unknown.out, unknown.made], [2, '', []]);
      t.regex(unknown.err, /--no-such-option/);
    },
  );
}
