import test from 'ava';
import { earlyNames, earlyNamesIn } from './early-names.ts';
import { grown, perFile, readLeft, stale } from './shrinking.ts';

test('a name that a function uses above the statement that makes it is found', (t) => {
  const namesIn = (body: string): string[] => earlyNamesIn(`function f(p) {\n${body}\n}`).map(({ name }) => name);
  t.deepEqual(namesIn('const a = () => b();\nconst b = () => 1;'), ['b']);
  t.deepEqual(namesIn('const a = () => ({ b });\nconst { b, ...c } = p;'), ['b']);
  t.deepEqual(namesIn('if (p) {\nconst a = () => b;\nconst b = 1;\n}'), ['b']);
  for (const body of [
    'const b = () => 1;\nconst a = () => b();',
    'const a = () => b();\nfunction b() {}',
    'const a = (b) => b();\nconst b = 1;',
    'const a = ({ b }) => { const c = b; return c; };\nconst b = 1;\nconst c = 2;',
    'const a = p.b;\nconst b = 1;',
    'const a = { b: 1 };\nconst b = 1;',
    'for (const b of p) p(b);\nconst b = 1;',
    'const a: b = 1;\nconst b = 1;',
    'p(() => b());',
  ])
    t.deepEqual(namesIn(body), [], body);
  t.deepEqual(earlyNamesIn('const a = () => b();\nconst b = () => 1;'), [], 'in a file, what is shown stands first');
});

test('no file has more names that stand above what makes them than it had', (t) => {
  const { early } = readLeft();
  const now = perFile(earlyNames());
  t.deepEqual(grown(now, early), []);
  if (stale(now, early).length > 0) t.log(`fewer than allowed: ${stale(now, early).join(', ')}`);
});
