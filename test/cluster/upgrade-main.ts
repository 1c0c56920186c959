import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

/**
 * `npm run test:upgrade -- --from REF`: makes the version of a commit, with its packages, starts a cluster of it, and upgrades that to
 * this version under load (`upgrade.test.ts`).
 */
const { values } = parseArgs({ options: { from: { type: 'string' } } });
if (values.from === undefined) throw new Error('usage: npm run test:upgrade -- --from COMMIT');

const folder = mkdtempSync(join(tmpdir(), 'earlier-version-'));
const run = (command: string, args: readonly string[], options: { readonly cwd?: string } = {}): void => {
  execFileSync(command, args, { stdio: 'inherit', ...options });
};
try {
  run('git', ['clone', '--quiet', '--shared', '--no-checkout', '.', folder]);
  run('git', ['checkout', '--quiet', values.from], { cwd: folder });
  run('npm', ['ci', '--no-audit', '--no-fund'], { cwd: folder });
  process.env['SHAPE'] = 'cluster';
  process.env['EARLIER'] = folder;
  run('npx', ['ava', '--timeout=5m', 'test/cluster/upgrade.test.ts']);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
