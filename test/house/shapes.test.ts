import { posix } from 'node:path';
import test from 'ava';
import { leftOut } from '../ci/left-out.ts';
import { files, read, specifiersOf, targetOf } from './tree.ts';

const shape = '/test/http/shape';

/** Whether a file of the suites of HTTP opens the service through `shape.ts`, itself or by what it imports of `test/http`. */
function opensShape(file: string, seen = new Set<string>()): boolean {
  if (seen.has(file)) return false;
  seen.add(file);
  return specifiersOf(read(file))
    .map((specifier) => targetOf(file, specifier))
    .some(
      (target) => target === shape || (target.startsWith('/test/http/') && opensShape(`${target.slice(1)}.ts`, seen)),
    );
}

const { scripts } = JSON.parse(read('package.json')) as { scripts: Readonly<Record<string, string>> };

/** The files of `test/http` that a command leaves out by name, in the order of the alphabet. */
const leftOutBy = (command: string): string[] =>
  [...command.matchAll(/"!test\/http\/\{([^}*]*)\}\.test\.ts"/g)]
    .flatMap(([, names = '']) => names.split(','))
    .toSorted();

test('commands that test the service as a cluster leave out those suites of HTTP that run alike in every shape, and no other', (t) => {
  const alike = files
    .filter((file) => /^test\/http\/[^/]+\.test\.ts$/.test(file) && !opensShape(file))
    .map((file) => posix.basename(file, '.test.ts'));
  const commands = Object.entries(scripts).flatMap(([name, script]) =>
    script
      .split(' && ')
      .filter((command) => /\bSHAPE=/.test(command) && command.includes('"test/http/*.test.ts"'))
      .map((command) => [name, command] as const),
  );
  t.deepEqual(
    commands.map(([name]) => name),
    ['test:cluster', 'test:pools', 'test:pools'],
  );
  for (const [name, command] of commands) t.deepEqual(leftOutBy(command), alike, name);
});

test('what the run of all tests leaves out is run, word for word, by a command that CI calls', (t) => {
  const ci = read('.ci/run');
  const called = new Set([...ci.matchAll(/\bnpm run (?:--silent )?([\w:-]+)/g)].map(([, name = '']) => name));
  t.true(called.has('check') && scripts['check']?.includes('npm run --silent house'));
  for (const [command, patterns] of Object.entries(leftOut)) {
    t.true(command === 'house' || called.has(command), command);
    for (const pattern of patterns) t.true(scripts[command]?.split(/["\s]/).includes(pattern), pattern);
  }
});
