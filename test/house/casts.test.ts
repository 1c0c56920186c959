import test from 'ava';
import { files, read, tests } from './tree.ts';

test('a value is taken for another type by `as unknown as` only with the reason in a comment beside it', (t) => {
  t.deepEqual(withoutReason('const a = b as unknown as A;'), [1]);
  t.deepEqual(withoutReason('// The library forgets this field.\n\nconst a = b as unknown as A;'), [3]);
  t.deepEqual(withoutReason('// The library forgets this field.\nconst a = b as unknown as A;'), []);
  t.deepEqual(withoutReason('const a = b as unknown as A; // The library forgets this field.'), []);
  t.deepEqual(
    withoutReason('// The library forgets this field.\nconst a = (await read(\n  b,\n)) as unknown as A;'),
    [],
  );
  const code = files.filter((file) => !tests.test(file) && file !== 'services/memory/search/rank.ts');
  t.deepEqual(
    code.flatMap((file) => withoutReason(read(file)).map((line) => `${file}:${line}`)),
    [],
  );
});

/** The lines that hold such a cast while neither they nor the line above their statement hold a comment. */
function withoutReason(source: string): number[] {
  const lines = source.split('\n');
  return lines.flatMap((line, index) => {
    if (!/\bas unknown as\b/.test(line) || line.includes('// ')) return [];
    const above = [lines[index - 1], lines[beginOf(lines, index) - 1]];
    return above.some((other = '') => /^\s*(\/\/|\*|\/\*)/.test(other)) ? [] : [index + 1];
  });
}

/** The line in which the statement around a line begins, as far as its layout shows it: the nearest above that is no deeper. */
function beginOf(lines: readonly string[], at: number): number {
  const depth = depthOf(lines[at] ?? '');
  const closes = /^\s*[)\].}]/.test(lines[at] ?? '');
  if (!closes) return at;
  for (let above = at - 1; above >= 0; above -= 1) {
    const line = lines[above] ?? '';
    if (depthOf(line) <= depth && !/^\s*[)\].}]/.test(line)) return above;
  }
  return at;
}

function depthOf(line: string): number {
  return line.length - line.trimStart().length;
}
