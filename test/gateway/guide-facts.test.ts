import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { endpoints } from '@agent-workflow/gateway/endpoints';
import { accessOf, changes, takesIdempotencyKey } from '@agent-workflow/gateway/http/endpoint';
import { eventKinds } from '@agent-workflow/protos/event-parts';
import {
  distanceMetrics,
  granularities,
  memoryTypes,
  multitaskStrategies,
  retrievalStrategies,
  runStatuses,
} from '@agent-workflow/protos/lists';
import { sizes } from '@agent-workflow/kit/sizes';
import { blockRules, roles } from '@agent-workflow/protos/message';
import test from 'ava';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
/** All pages but the one whose routes are those of another server: `operations.test.ts` beside the tests of that dialect sends what it says. */
const pages = globSync('gateway/guide/*.md', { cwd: root }).filter(
  (page) => !page.endsWith('/langgraph-operations.md'),
);
const whole = pages.map(read).join('\n');
const found = (text: string, pattern: RegExp): string[] => [...text.matchAll(pattern)].map(([, word = '']) => word);

const lists: readonly (readonly [page: string, words: readonly string[]])[] = [
  ['threads', [...runStatuses, ...granularities, ...roles, ...Object.keys(blockRules)]],
  ['streaming', eventKinds],
  ['runs', ['tasks', 'values', 'debug']],
  ['multitask', multitaskStrategies],
  ['memory', [...memoryTypes, ...retrievalStrategies, ...distanceMetrics]],
];

for (const [page, words] of lists) {
  test(`the page on ${page} names every value of its closed lists`, (t) => {
    const text = read(`gateway/guide/${page}.md`);
    t.deepEqual(
      words.filter((word) => !text.includes(`\`${word}\``)),
      [],
    );
  });
}

test('every route that the guide names is one of the table', (t) => {
  const routes = endpoints.flatMap((row) => [row, ...row.aliases]).map(({ method, path }) => `${method} ${path}`);
  const named = found(whole, /\b((?:GET|POST|PUT|DELETE) \/[\w/:{}]+)/g).filter((route) => !route.endsWith('/'));
  t.true(named.length > 20);
  t.deepEqual(
    named.filter((route) => !routes.includes(route)),
    [],
  );
});

test('the guide names each path of the table up to its first parameter', (t) => {
  const unnamed = (path: string): boolean => !whole.includes(path.replace(/\{\w+\}.*/, ''));
  t.true(unnamed('/v1/pictures'));
  t.deepEqual(endpoints.map(({ path }) => path).filter(unnamed), []);
});

test('the table of permissions has each pair of a resource and an action, and all routes that need it', (t) => {
  const needed = new Map<string, string[]>();
  for (const row of endpoints) {
    const access = accessOf(row);
    if (!access) continue;
    const pair = `${access.resource}:${access.action}`;
    const routes = [row, ...row.aliases].map(({ method, path }) => `${method} ${path}`);
    needed.set(pair, [...(needed.get(pair) ?? []), ...routes].toSorted());
  }
  const rows = read('gateway/guide/auth.md').matchAll(/^\| `(\w+:\w+)` \| (.*) \|$/gm);
  const named = new Map([...rows].map(([, pair = '', cell = '']) => [pair, found(cell, /`([^`]+)`/g).toSorted()]));
  t.true(named.size > 10);
  t.deepEqual(Object.fromEntries(named), Object.fromEntries(needed));
});

test('the page on authentication names each path of the table that needs no credentials', (t) => {
  const open = endpoints
    .filter((row) => row.access === 'every caller' && !['ping', 'getMe'].includes(row.name))
    .map(({ path }) => path);
  const sentence = /^These paths need no credentials: [^]*?\n\n/m.exec(read('gateway/guide/auth.md'))?.[0] ?? '';
  t.deepEqual(
    [...open, '/favicon.ico', '/docs', '/playground', '/', '/files/'].filter(
      (path) => !sentence.includes(`\`${path}\``),
    ),
    [],
  );
});

test('the page on idempotency names each change that takes no key', (t) => {
  const page = read('gateway/guide/idempotency.md');
  const without = endpoints.filter((row) => changes(row) && !takesIdempotencyKey(row));
  t.true(without.length > 0);
  t.deepEqual(
    without.filter(({ method, path }) => !page.includes(`\`${method} ${path}\``)).map(({ path }) => path),
    [],
  );
});

test('the page on limits has the counts of one request, as the code bounds them', (t) => {
  const page = read('gateway/guide/limits.md');
  const rows = [
    ['Messages of one request', sizes.messages],
    ['Files that the messages of one request name', sizes.filesNamed],
  ] as const;
  for (const [what, most] of rows)
    t.true(page.includes(`| ${what} | ${most.toLocaleString('en')} | 422 |`), `${what}: ${String(most)}`);
});

test('every setting that the guide names is one of the service', (t) => {
  const settings = read('deploy/settings.md');
  const others = [
    ...found(errorCodes, /`(\w+)`/g),
    ...found(read('gateway/dialects/agui/events/run-events.ts'), /'([A-Z_]+)'/g),
    ...found(read('gateway/dialects/agui/events/subagents.ts'), /'([A-Z_]+)'/g),
    ...found(read('protos/task-status.ts'), /'([A-Z_]+)'/g),
    ...found(read('gateway/dialects/a2a/replies/reasons.ts'), /\b([A-Z_]+): \{ rpc/g),
  ];
  const named = found(whole, /`([A-Z]+(?:_[A-Z]+)+)`/g).filter((name) => !others.includes(name));
  t.true(named.length > 10);
  t.deepEqual(
    named.filter((name) => !settings.includes(`\`${name}\``)),
    [],
  );
});

test('every file that the guide links to or names is there, and its index links to each page', (t) => {
  const links = pages.flatMap((page) =>
    found(read(page), /\]\((?!https?:|#)([^)#]+)/g).map((link) => join(dirname(page), link)),
  );
  const named = found(whole, /`((?:test|services|gateway|deploy)\/[\w./-]+)`/g);
  t.true(named.length > 0);
  t.deepEqual(
    [...links, ...named].filter((path) => !existsSync(join(root, path))),
    [],
  );
  const index = read('gateway/guide/README.md');
  const missing = pages.filter(
    (page) => !page.endsWith('README.md') && !index.includes(`](${page.split('/').at(-1)})`),
  );
  t.deepEqual(missing, []);
});

/** The table of error codes, whose names look like those of settings. */
const errorCodes = read('gateway/guide/errors.md');
