import { fileURLToPath } from 'node:url';
import test from 'ava';
import { runToEnd } from '../servers/process.ts';
import { killUsage, readKillOptions } from './options.ts';

test('the options of a campaign have defaults, and a wrong one is named with the usage', (t) => {
  const defaults = { campaign: 'process', kills: 40, faults: 60, clients: 12, leaseMs: 1500, agent: 'metered' };
  t.like(readKillOptions([]), { ...defaults, runs: undefined, only: undefined, isVerbose: false });
  const cluster = readKillOptions(['--cluster', '--only', 'worker,nats', '--lease', '0', '--pure', '--seed', '7']);
  t.like(cluster, { campaign: 'cluster', only: ['worker', 'nats'], leaseMs: 0, agent: 'pure', seed: 7 });
  t.like(readKillOptions(['--revisions', '--runs', '90']), { campaign: 'revisions', runs: 90 });
  const wrong: readonly (readonly [args: readonly string[], why: RegExp])[] = [
    [['--foo'], /^Unknown option '--foo'/],
    [['--kills', 'many'], /^--kills must be a whole number from 1, not "many"/],
    [['--only', 'worker,redis'], /^--only must be of worker, .*cassandra, not "redis"/],
  ];
  for (const [args, why] of wrong) {
    const refused = t.throws(() => readKillOptions(args), { name: 'ConfigError', message: why }, args.join(' '));
    t.true(refused.message.endsWith(`\n\n${killUsage}`), args.join(' '));
  }
});

test('the command of the campaigns prints its usage, and a wrong option without a stack', async (t) => {
  const entry = fileURLToPath(new URL('./main.ts', import.meta.url));
  t.deepEqual(await runToEnd({ entry, env: {}, words: ['--help'] }), { code: 0, output: `${killUsage}\n` });
  const { code, output } = await runToEnd({ entry, env: {}, words: ['--kill', '3'] });
  t.is(code, 2);
  t.true(output.endsWith(`\n\n${killUsage}\n`), output);
});
