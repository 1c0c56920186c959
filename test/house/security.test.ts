import { existsSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { read, root } from './tree.ts';

/** The lines of both lists. */
const risks = ['API', 'ASI'].flatMap((list) =>
  Array.from({ length: 10 }, (_, index) =>
    list === 'API' ? `API${index + 1}` : `ASI${String(index + 1).padStart(2, '0')}`,
  ),
);

interface Named {
  readonly file: string;
  readonly title: string | undefined;
}

/** The tests that a cell names: each a file, and a title of it or what all titles of one kind have in common. */
const namedIn = (cell: string): readonly Named[] =>
  [...cell.matchAll(/`([^`]+\.test\.ts)`(?: "([^"]+)")?/g)].map(([, file = '', title]) => ({ file, title }));

/** The rows of the table, by risk, with the cell that names tests. */
const rowsOf = (page: string): ReadonlyMap<string, string> =>
  new Map(
    page
      .split('\n')
      .map((line) => line.split(' | '))
      .flatMap(([first = '', , tests]) => {
        const risk = /^\| (API\d+|ASI\d+) /.exec(first)?.[1];
        return risk !== undefined && tests !== undefined ? [[risk, tests] as const] : [];
      }),
  );

/** What is wrong with a test that is named. */
function faultOf({ file, title }: Named): string | undefined {
  if (!existsSync(join(root, file))) return `${file} is not there`;
  return title === undefined || read(file).includes(title) ? undefined : `${file} has no test "${title}"`;
}

test('SECURITY.md says of each risk of both lists which tests hold what it says, and each is there', (t) => {
  const rows = rowsOf(read('SECURITY.md'));
  t.deepEqual([...rows.keys()], risks);
  for (const [risk, cell] of rows) {
    const named = namedIn(cell);
    t.true(named.length > 0, risk);
    t.deepEqual(
      named.flatMap((each) => faultOf(each) ?? []),
      [],
      risk,
    );
  }
});

test('a test that is not there is found', (t) => {
  const [absent, renamed, good] = namedIn(
    `\`test/nowhere.test.ts\` "x"; \`test/house/security.test.ts\` "${['no', 'title', 'of', 'it'].join(' ')}"; \`test/house/security.test.ts\` "a test that is not there is found"`,
  );
  t.is(absent && faultOf(absent), 'test/nowhere.test.ts is not there');
  t.regex((renamed && faultOf(renamed)) ?? '', /has no test/);
  t.is(good && faultOf(good), undefined);
});
