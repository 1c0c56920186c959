import { posix } from 'node:path';
import test from 'ava';
import { betweenFolders, circlesIn, inCircles } from './circles.ts';
import { allArrows, files, read, specifiersOf, tests, workspaceOf, workspaces, type Arrow } from './tree.ts';

/** Files whose imports make a circle today. The list only gets shorter: a file that makes none is refused here. */
const knotted: readonly string[] = [];

test('no files import each other in a circle, types included', (t) => {
  t.deepEqual(
    inCircles([
      ['a.ts', 'b.ts'],
      ['b.ts', 'c.ts'],
      ['c.ts', 'a.ts'],
      ['d.ts', 'a.ts'],
    ]),
    ['a.ts', 'b.ts', 'c.ts'],
  );
  t.deepEqual(
    inCircles([
      ['a.ts', 'b.ts'],
      ['a.ts', 'c.ts'],
      ['c.ts', 'b.ts'],
    ]),
    [],
  );
  t.deepEqual(inCircles(without(knotted)), []);
});

test('no folders of a workspace import each other, straight or in a circle, types included', (t) => {
  const there: Arrow = ['gateway/replies/events.ts', 'gateway/middleware/context.ts'];
  const back: Arrow = ['gateway/middleware/endpoint.ts', 'gateway/replies/feeds.ts'];
  t.deepEqual(inCircles(betweenFolders([there, back])), ['gateway/middleware', 'gateway/replies']);
  t.deepEqual(inCircles(betweenFolders([back])), []);
  t.deepEqual(inCircles(betweenFolders(without(knotted))), []);
});

for (const workspace of workspaces) {
  test(`in ${workspace} files and folders form layers: none imports what stands above it, types included`, (t) => {
    const down: Arrow = ['a/x/one.ts', 'a/y/two.ts'];
    t.deepEqual(circlesIn('a', [down]), []);
    t.deepEqual(circlesIn('a', [down, ['a/y/two.ts', 'a/x/other.ts']]), ['a/: x, y']);
    t.deepEqual(circlesIn('a', [down, ['a/y/sub/three.ts', 'a/x/sub/other.ts']]), ['a/: x, y']);
    t.true(files.some((file) => file.startsWith(`${workspace}/`)));
    t.deepEqual(circlesIn(workspace, without(knotted)), []);
  });
}

for (const file of knotted) {
  test(`${file} still makes a circle, or is taken off the list`, (t) => {
    const others = without(knotted.filter((other) => other !== file));
    const circles = [...inCircles(others), ...inCircles(betweenFolders(others))];
    t.true(circles.length > 0);
  });
}

/**
 * The folders of a workspace from the ground up. A folder imports folders of the rows above its own, and none of its own row or
 * of those below; the last row is the workspace's own files.
 */
type Layers = readonly (readonly string[])[];

const layersOf: Readonly<Record<string, Layers>> = {
  gateway: [
    ['http', 'pages/assets', 'pages/docs', 'redis', 'upstream'],
    [
      'assistants',
      'audit',
      'auth',
      'files',
      'idempotency',
      'items',
      'limits',
      'pages',
      'schedules',
      'tickets',
      'tools',
      'triggers',
    ],
    ['access'],
    ['api-keys', 'replies', 'shares'],
    ['middleware'],
    ['dialects/common'],
    ['dialects/v1/schemas'],
    ['dialects/v1/replies'],
    ['dialects/v1/examples'],
    ['dialects/v1/endpoints/common'],
    ['dialects/v1/endpoints'],
    ['dialects/v1'],
    [
      'dialects/langgraph/ids',
      'dialects/langgraph/live',
      'dialects/langgraph/messages',
      'dialects/langgraph/replies',
      'dialects/langgraph/schemas',
    ],
    ['dialects/langgraph/out'],
    ['dialects/langgraph/frames', 'dialects/langgraph/in'],
    ['dialects/langgraph/protocol'],
    ['dialects/langgraph/rows'],
    ['dialects/langgraph/operations'],
    ['dialects/langgraph'],
    ['dialects/openai/ids', 'dialects/openai/replies', 'dialects/openai/schemas'],
    ['dialects/openai/messages'],
    ['dialects/openai/in', 'dialects/openai/out'],
    ['dialects/openai/frames'],
    ['dialects/openai/rows'],
    ['dialects/openai'],
    ['dialects/a2a/schemas', 'dialects/a2a/replies'],
    ['dialects/a2a/messages'],
    ['dialects/a2a/out'],
    ['dialects/a2a/in', 'dialects/a2a/frames'],
    ['dialects/a2a/rows'],
    ['dialects/a2a'],
    ['dialects/agui/schemas', 'dialects/agui/replies'],
    ['dialects/agui/messages'],
    ['dialects/agui/events'],
    ['dialects/agui/rows'],
    ['dialects/agui'],
    ['dialects/mcp/schemas', 'dialects/mcp/wire'],
    ['dialects/mcp/offers', 'dialects/mcp/replies'],
    ['dialects/mcp/calls'],
    ['dialects/mcp/methods'],
    ['dialects/mcp/rows'],
    ['dialects/mcp'],
    ['dialects'],
    ['.'],
  ],
  'services/memory': [
    ['ports'],
    ['record', 'vectors', 'words'],
    ['adapters/weaviate/client'],
    ['adapters/weaviate/marks'],
    ['adapters/weaviate/objects'],
    ['adapters/weaviate/records'],
    ['adapters/weaviate/repair'],
    ['adapters/sqlite', 'adapters/weaviate', 'embedders', 'search'],
    ['backup'],
    ['.'],
  ],
};

test('an import that goes up, or to the same row, is found', (t) => {
  t.deepEqual(upwards('gateway', ['gateway/http/body.ts', 'gateway/replies/feeds.ts']), [
    'gateway/http > gateway/replies',
  ]);
  t.deepEqual(upwards('gateway', ['gateway/tickets/port.ts', 'gateway/tools/port.ts']), [
    'gateway/tickets > gateway/tools',
  ]);
  t.deepEqual(upwards('gateway', ['gateway/auth/open.ts', 'gateway/config.ts']), ['gateway/auth > gateway']);
  t.deepEqual(upwards('gateway', ['gateway/middleware/endpoint.ts', 'gateway/dialects/v1/dialect.ts']), [
    'gateway/middleware > gateway/dialects/v1',
  ]);
  t.deepEqual(upwards('gateway', ['gateway/app.ts', 'gateway/http/body.ts']), []);
});

for (const [workspace, layers] of Object.entries(layersOf)) {
  test(`nothing in ${workspace} imports upwards, types included`, (t) => {
    const own = allArrows.filter((arrow) => arrow.every((file) => file.startsWith(`${workspace}/`)));
    t.true(own.length > 100);
    t.deepEqual(upwards(workspace, ...own), []);
    const folders = files
      .filter((file) => file.startsWith(`${workspace}/`))
      .map((file) => layerNameOf(workspace, file));
    t.deepEqual([...new Set(folders)].toSorted(), layers.flat().toSorted(), 'each folder stands in one row');
  });
}

test('what keeps idempotent replies, limits, tickets or tools is entered by its index', (t) => {
  const pastTheIndex = (...arrows: readonly Arrow[]): Arrow[] =>
    arrows.filter(
      ([from, to]) =>
        /^gateway\/(idempotency|limits|tickets|tools)\/(?!index\.ts$)/.test(to) &&
        posix.dirname(from) !== posix.dirname(to),
    );
  t.is(pastTheIndex(['gateway/app.ts', 'gateway/limits/rates.ts']).length, 1);
  t.is(pastTheIndex(['gateway/app.ts', 'gateway/limits/index.ts']).length, 0);
  t.is(pastTheIndex(['gateway/limits/rates.ts', 'gateway/limits/caller.ts']).length, 0);
  t.deepEqual(pastTheIndex(...allArrows), []);
});

test('a relative import stays in its workspace and names its file whole', (t) => {
  t.deepEqual(misplaced('services/threads/threads.ts', `import { x } from '../kit/errors.ts';`), ['../kit/errors.ts']);
  t.deepEqual(misplaced('gateway/app.ts', `import { x } from './config';`), ['./config']);
  t.deepEqual(misplaced('gateway/dialects/dialects.ts', `import { x } from '../app.ts';`), []);
  const broken = files.flatMap((file) => misplaced(file, read(file)).map((specifier) => `${file}: ${specifier}`));
  t.deepEqual(broken, []);
});

for (const workspace of workspaces) {
  test(`${workspace} names each file that others may import`, (t) => {
    const open = (exports: object): string[] => Object.keys(exports).filter((entry) => entry.includes('*'));
    t.deepEqual(open({ './*': './*.ts', './open': './open.ts' }), ['./*']);
    const { exports } = JSON.parse(read(`${workspace}/package.json`)) as { exports: object };
    t.deepEqual(open(exports), []);
  });
}

test('the rules look at files that are there', (t) => {
  for (const workspace of ['protos/', 'services/kit/', 'test/']) {
    t.true(
      files.some((file) => file.startsWith(workspace)),
      workspace,
    );
  }
  t.true(files.some((file) => tests.test(file)));
  const known = new Set(files);
  t.deepEqual(
    allArrows.filter(([, to]) => !known.has(to)),
    [],
  );
});

function without(left: readonly string[]): readonly Arrow[] {
  return allArrows.filter(([from]) => !left.includes(from));
}

function misplaced(file: string, source: string): string[] {
  const relative = specifiersOf(source).filter((specifier) => specifier.startsWith('.'));
  return relative.filter((specifier) => {
    const target = posix.join(posix.dirname(file), specifier);
    return workspaceOf(target) !== workspaceOf(file) || !/\.(tsx?|js|json|css)$/.test(specifier);
  });
}

function upwards(workspace: string, ...arrows: readonly Arrow[]): string[] {
  const rowOf = (file: string): number =>
    (layersOf[workspace] ?? []).findIndex((row) => row.includes(layerNameOf(workspace, file)));
  const up = betweenFolders(arrows.filter(([from, to]) => rowOf(to) >= rowOf(from)));
  return [...new Set(up.map(([from, to]) => `${from} > ${to}`))];
}

function layerNameOf(workspace: string, file: string): string {
  return posix.relative(workspace, posix.dirname(file)) || '.';
}
