import test from 'ava';
import { readClusterOptions } from './cluster-options.ts';

test('the options of a cluster to play with have defaults, and a wrong one is named with the usage', (t) => {
  const defaults = { gateways: 2, threads: 2, executions: 2, workers: 1, port: 8000 };
  t.like(readClusterOptions([]), { ...defaults, config: undefined, isPooled: false, level: 'info' });
  t.like(readClusterOptions(['--gateways', '3', '--port', '9000']), { ...defaults, gateways: 3, port: 9000 });
  t.is(readClusterOptions(['--help']), 'help');
  const wrong: readonly (readonly [args: readonly string[], why: RegExp])[] = [
    [['--foo'], /^Unknown option '--foo'/],
    [['--gateways', '0'], /^--gateways must be a whole number from 1 to 50, not "0"/],
    [['--workers', 'x'], /^--workers must be a whole number from 1 to 50, not "x"/],
    [['--port', '65535'], /^--port must be a whole number from 1 to 65534, not "65535"/],
    [['--config', 'nope.json'], /^--config: there is no file "nope\.json"/],
  ];
  for (const [args, why] of wrong) {
    const refused = t.throws(() => readClusterOptions(args), { name: 'ConfigError', message: why }, args.join(' '));
    t.regex(refused.message, /usage: npm run cluster/, args.join(' '));
  }
});
