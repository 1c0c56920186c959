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

test('the suites of HTTP open the service in the shape that a command asks for, and those that run in one shape are elsewhere', (t) => {
  const inOneShape = files.filter((file) => /^test\/http\/[^/]+\.test\.ts$/.test(file) && !opensShape(file));
  t.deepEqual(inOneShape, [], 'they are in test/gateway');
  for (const [name, script] of Object.entries(scripts))
    for (const command of script.split(' && '))
      t.false(/\bSHAPE=/.test(command) && command.includes('test/gateway'), name);
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
