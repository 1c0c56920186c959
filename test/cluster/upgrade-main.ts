import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { readCommandLine } from '@agent-workflow/kit/command-line';
import { packageIn } from '../servers/cluster.ts';
import { commitOf, makeEarlierProject } from './earlier-version.ts';
import { lastRelease } from './last-release.ts';

/**
 * `npm run test:upgrade [-- --from REF]`: installs the packages of the last release or of another commit, starts clusters of them, and upgrades
 * those to this version under load. The exit code is 3 where there is no such commit in this clone, or no release yet, and nothing was tested.
 */
const { values } = readCommandLine({
  usage: `usage: npm run test:upgrade -- [--from REF]
  Upgrades clusters of the last release, or of another commit, to this version under load`,
  options: { from: { type: 'string' } },
});
const from = values.from ?? lastRelease;
const commit = from === undefined ? undefined : commitOf(from);

if (commit === undefined) {
  const why =
    from === undefined
      ? 'the first release is the base of upgrades'
      : `the commit ${from} is not in this clone, which may be a shallow one`;
  process.stderr.write(`${why}: no upgrade was tested\n`);
  process.exitCode = 3;
} else {
  const began = performance.now();
  using project = makeEarlierProject(commit);
  process.stdout.write(
    `the packages of ${commit} are there after ${Math.round((performance.now() - began) / 1000)} s\n`,
  );
  process.env['SHAPE'] = 'cluster';
  process.env['EARLIER'] = project.folder;
  const command = join(packageIn(project.folder), 'services/command/main.js');
  const { stdout } = spawnSync(process.execPath, [command, 'help'], { encoding: 'utf8' });
  const hasPools = stdout.includes('register');
  if (!hasPools) process.stdout.write('that version registers no agents: it has no pools to test\n');
  const suites = ['upgrade', 'upgrade-workers', ...(hasPools ? ['upgrade-pools'] : [])];
  const files = suites.map((name) => `test/cluster/${name}.test.ts`);
  const { status } = spawnSync(process.execPath, ['test/ci/main.ts', '--concurrency=1', ...files], {
    stdio: 'inherit',
  });
  process.exitCode = status === 0 ? 0 : 1;
}
