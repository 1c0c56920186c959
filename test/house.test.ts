import { globSync, readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';

/**
 * A rule of the house. A file that `files` matches (and `except` does not) may hold neither an import that `imports`
 * matches nor a text that `text` matches. Imports of ours are seen as paths from the root, as `/services/kit/errors`;
 * those of others as written. `example` breaks the rule.
 */
interface Rule {
  readonly says: string;
  readonly files: RegExp;
  readonly except?: RegExp;
  readonly imports?: RegExp;
  readonly text?: RegExp;
  readonly example: readonly [file: string, text: string];
}

const tests = /\.test\.ts$|^test\//;
const anyCode = /\.(ts|js)$/;

/** Where a service itself speaks HTTP: to stores and models, and to whoever reads its metrics. */
const outsideOfHttp = /\/(adapters|embedders|agents)\/|^services\/runtime\/metrics-port\.ts$|\.test\.ts$/;

const rules: readonly Rule[] = [
  {
    says: 'kit imports nothing of ours',
    files: /^services\/kit\//,
    except: tests,
    imports: /^\/(?!services\/kit\/)/,
    example: ['services/kit/ids.ts', `import type { Call } from '@agent-workflow/protos/call';`],
  },
  {
    says: 'what processes are made of imports nothing of ours but kit',
    files: /^services\/runtime\//,
    except: tests,
    imports: /^\/(?!services\/(runtime|kit)\/)/,
    example: ['services/runtime/process.ts', `import type { Call } from '@agent-workflow/protos/call';`],
  },
  {
    says: 'protos imports nothing of ours but errors, sizes and the request context of kit',
    files: /^protos\//,
    except: tests,
    imports: /^\/(?!protos\/|services\/kit\/(errors|sizes|request-context)$)/,
    example: ['protos/wire/serve.ts', `import { createLog } from '@agent-workflow/kit/log';`],
  },
  {
    says: 'whoever only links services in process does not load gRPC',
    files: /^protos\/(?!wire\/)|^protos\/wire\/(link|leash|freeze)\.ts$/,
    except: tests,
    imports: /^@grpc\/|^\/protos\/wire\/(serve|connect|status|definitions)$/,
    example: ['protos/wire/link.ts', `import { toStatus } from './status.ts';`],
  },
  {
    says: 'a service never imports another service, nor the gateway',
    files: /^services\/threads\//,
    imports: /^\/(gateway|services\/(?!threads\/|kit\/|runtime\/))/,
    example: ['services/threads/threads.ts', `import { createMemories } from '@agent-workflow/memory/memories';`],
  },
  {
    says: 'a service never imports another service, nor the gateway',
    files: /^services\/execution\//,
    imports: /^\/(gateway|services\/(?!execution\/|graph(\/|$)|kit\/|runtime\/))/,
    example: [
      'services/execution/worker/worker.ts',
      `import { createThreads } from '@agent-workflow/threads/threads';`,
    ],
  },
  {
    says: 'a service never imports another service, nor the gateway',
    files: /^services\/memory\//,
    imports: /^\/(gateway|services\/(?!memory\/|kit\/|runtime\/))/,
    example: ['services/memory/memories.ts', `import { createThreads } from '@agent-workflow/threads/threads';`],
  },
  {
    says: 'the gateway never imports a service',
    files: /^gateway\//,
    imports: /^\/services\/(?!kit\/|runtime\/)/,
    example: ['gateway/app.ts', `import { createThreads } from '@agent-workflow/threads/threads';`],
  },
  {
    says: 'nobody imports test or standalone',
    files: /^(protos|gateway|services\/(?!standalone\/))/,
    imports: /^\/(test|services\/standalone)\//,
    example: ['gateway/app.test.ts', `import { start } from '@agent-workflow/standalone/start';`],
  },
  {
    says: 'nobody imports a main.ts',
    files: anyCode,
    except: tests,
    imports: /\/main$/,
    example: ['services/standalone/compose.ts', `import { run } from './main.ts';`],
  },
  {
    says: 'a port is types of protos and nothing else',
    files: /\/port\.ts$|\/ports\//,
    imports: /^(?!\/protos\/)/,
    example: [
      'services/execution/ports/port.ts',
      `import type { Sqlite } from '@agent-workflow/runtime/sqlite/sqlite';`,
    ],
  },
  {
    says: 'a graph is built and run with kit, messages and ajv alone: it knows no service, queue, store nor HTTP',
    files: /^services\/graph\//,
    except: tests,
    imports:
      /^\/(?!services\/graph\/|services\/kit\/(errors|ids|sizes)$|protos\/message$)|^(?!\/|ajv|node:(async_hooks|timers))/,
    example: ['services/graph/run/step.ts', `import type { RunLog } from '@agent-workflow/execution/ports/port';`],
  },
  {
    says: 'an adapter never imports the service it serves',
    files: /\/adapters\//,
    except: tests,
    imports:
      /^\/services\/(threads\/threads|execution\/(api|worker|steps|events|record|watchdog)\/.*|memory\/memories|\w+\/(config|open))$/,
    example: ['services/memory/adapters/sqlite/store.ts', `import { createMemories } from '../../memories.ts';`],
  },
  {
    says: 'an adapter of SQLite never imports another adapter',
    files: /\/adapters\/sqlite([^/]*\.ts|\/.*)$/,
    except: tests,
    imports: /\/adapters\/(?!sqlite)/,
    example: ['services/memory/adapters/sqlite/store.ts', `import { open } from '../weaviate/store.ts';`],
  },
  {
    says: 'what SQLite adapters share is for adapters, and for those processes that hold a data folder',
    files: anyCode,
    except: /\/adapters\/|^services\/(runtime\/sqlite\/|standalone\/|memory\/open-store\.ts$)|\.test\.ts$|^test\//,
    imports: /^\/services\/runtime\/sqlite\//,
    example: ['services/threads/threads.ts', `import { openSqlite } from '@agent-workflow/runtime/sqlite/sqlite';`],
  },
  {
    says: 'drivers of stores stay in adapters, and those of Redis and SQLite where all adapters of them share one client',
    files: anyCode,
    except: /\/adapters\/|^(gateway\/redis\/client\.ts$|services\/runtime\/sqlite\/)|\.test\.ts$|^test\//,
    imports: /^(node:sqlite|cassandra-driver|nats|@nats-io\/.*|weaviate-.*|redis|@redis\/.*)$/,
    example: ['services/threads/threads.ts', `import { DatabaseSync } from 'node:sqlite';`],
  },
  {
    says: 'gRPC stays in protos/wire',
    files: anyCode,
    except: /^protos\/wire\/|^test\//,
    imports: /^(@grpc\/|grpc-)/,
    example: ['services/threads/threads.ts', `import { status } from '@grpc/grpc-js';`],
  },
  {
    says: 'the clients of Prometheus and OpenTelemetry stay in runtime, behind instruments and spans',
    files: anyCode,
    except: /^services\/runtime\/(metrics|spans)\.ts$|^test\//,
    imports: /^(prom-client|@opentelemetry\/)/,
    example: ['services/execution/worker/worker.ts', `import { trace } from '@opentelemetry/api';`],
  },
  {
    says: 'Koa stays in the gateway',
    files: anyCode,
    except: /^gateway\/|^test\//,
    imports: /^(@koa\/|koa)/,
    example: ['services/execution/api/runs.ts', `import Koa from 'koa';`],
  },
  {
    says: 'ajv checks requests in the gateway, and fields and the arguments of tools in graphs, and is nowhere else',
    files: anyCode,
    except: /^(gateway|services\/graph|test)\//,
    imports: /^ajv/,
    example: ['services/memory/memories.ts', `import { Ajv2020 } from 'ajv/dist/2020.js';`],
  },
  {
    says: 'services know no place of an HTTP request: a field is named in the words of the domain',
    files: /^services\//,
    except: outsideOfHttp,
    text: /\[\s*'(?:body|header|path)'\s*[,\]]|\[\s*'query'\s*,/,
    example: ['services/threads/record/bounds.ts', `refuseMessages(messages, ['body', 'messages']);`],
  },
  {
    says: 'services know no code that callers read over HTTP',
    files: /^services\//,
    except: outsideOfHttp,
    text: /\b[A-Z]+_(?:ERROR|REQUEST|FOUND|REQUIRED|EXCEEDED|LARGE|UNAVAILABLE|LIMITED|FORBIDDEN)\b/,
    example: ['services/execution/steps/drive.ts', `throw new RunFailure('NODE_ERROR', message);`],
  },
  {
    says: 'services know no status of HTTP',
    files: /^services\//,
    except: outsideOfHttp,
    text: /\b(?:status|statusCode|HTTP)\b[^\n]{0,20}\b[1-5]\d\d\b/,
    example: ['services/memory/memories.ts', `throw { status: 404 };`],
  },
  {
    says: 'the environment is read in kit/env.ts',
    files: anyCode,
    except: /^services\/kit\/env\.ts$|\.test\.ts$|^test\//,
    text: /\bprocess\.env\b|\benv\b[^\n]*from 'node:process'/,
    example: ['gateway/config.ts', `const port = process.env.PORT;`],
  },
  {
    says: 'no process ends itself, but for what an agent holds after the drain; it disposes what it opened',
    files: anyCode,
    except: /\.test\.ts$|^test\/|^services\/(?:standalone\/preflight\.js|runtime\/process\.ts)$/,
    text: /\bprocess\.exit\(/,
    example: ['gateway/app.ts', `process.exit(1);`],
  },
  {
    says: 'exports have names',
    files: /\.ts$/,
    text: /^export default\b|^export \{[^}]*\bas default\b/m,
    example: ['gateway/app.ts', `export default createApp;`],
  },
  {
    says: 'main holds no TODO',
    files: anyCode,
    except: /^test\/house\.test\.ts$/,
    text: /\b(TODO|FIXME|XXX)\b/,
    example: ['gateway/app.ts', `// TODO: later`],
  },
];

const root = fileURLToPath(new URL('..', import.meta.url));
const files = globSync(['protos/**/*.{ts,js}', 'services/**/*.{ts,js}', 'gateway/**/*.{ts,js}', 'test/**/*.{ts,js}'], {
  cwd: root,
  exclude: (name) => name.includes('node_modules'),
}).map((file) => file.replaceAll('\\', '/'));

for (const [index, rule] of rules.entries()) {
  test(`rule ${String(index + 1)}: ${rule.says}`, (t) => {
    t.true(breaks(rule, ...rule.example), 'the example that breaks the rule is not caught');
    t.deepEqual(
      files.filter((file) => breaks(rule, file, read(file))),
      [],
    );
  });
}

/**
 * The folders of the gateway from the ground up. A folder imports folders of the rows above its own, and none of its own row or
 * of those below; the last row is the gateway's own files.
 */
const gatewayLayers: readonly (readonly string[])[] = [
  ['http', 'redis', 'schemas', 'upstream'],
  ['auth', 'idempotency', 'limits', 'tickets', 'tools'],
  ['replies'],
  ['middleware'],
  ['endpoints/common'],
  ['endpoints/health', 'endpoints/memories', 'endpoints/messages', 'endpoints/state', 'endpoints/threads'],
  ['endpoints/checkpoints', 'endpoints/runs'],
  ['endpoints/graph'],
  ['endpoints'],
  ['.'],
];

test('nothing in the gateway imports upwards, types included', (t) => {
  t.deepEqual(upwards(['gateway/http/body.ts', 'gateway/replies/feeds.ts']), ['gateway/http > gateway/replies']);
  t.deepEqual(upwards(['gateway/tickets/port.ts', 'gateway/tools/port.ts']), ['gateway/tickets > gateway/tools']);
  t.deepEqual(upwards(['gateway/auth/open.ts', 'gateway/config.ts']), ['gateway/auth > gateway']);
  t.deepEqual(upwards(['gateway/app.ts', 'gateway/http/body.ts']), []);
  const gateway = allArrows.filter((arrow) => arrow.every((file) => file.startsWith('gateway/')));
  t.true(gateway.length > 100);
  t.deepEqual(upwards(...gateway), []);
  const folders = new Set(files.filter((file) => file.startsWith('gateway/')).map((file) => layerNameOf(file)));
  t.deepEqual([...folders].toSorted(), gatewayLayers.flat().toSorted(), 'each folder stands in one row');
});

test('what keeps idempotent replies, limits, tickets or tools is entered by its index', (t) => {
  const strays = (...arrows: readonly Arrow[]): Arrow[] =>
    arrows.filter(
      ([from, to]) =>
        /^gateway\/(idempotency|limits|tickets|tools)\/(?!index\.ts$)/.test(to) &&
        posix.dirname(from) !== posix.dirname(to),
    );
  t.is(strays(['gateway/app.ts', 'gateway/limits/rates.ts']).length, 1);
  t.is(strays(['gateway/app.ts', 'gateway/limits/index.ts']).length, 0);
  t.is(strays(['gateway/limits/rates.ts', 'gateway/limits/address.ts']).length, 0);
  t.deepEqual(strays(...allArrows), []);
});

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
  t.deepEqual(inCircles(allArrows.filter(([from]) => !knotted.test(from))), []);
});

test('no folders of a workspace import each other, straight or in a circle, types included', (t) => {
  const there: Arrow = ['gateway/replies/events.ts', 'gateway/middleware/context.ts'];
  const back: Arrow = ['gateway/middleware/answer.ts', 'gateway/replies/feeds.ts'];
  t.deepEqual(inCircles(betweenFolders([there, back])), ['gateway/middleware', 'gateway/replies']);
  t.deepEqual(inCircles(betweenFolders([back])), []);
  t.deepEqual(inCircles(betweenFolders(allArrows.filter(([from]) => !knotted.test(from)))), []);
});

test('a relative import stays in its workspace and names its file whole', (t) => {
  t.deepEqual(strays('services/threads/threads.ts', `import { x } from '../kit/errors.ts';`), ['../kit/errors.ts']);
  t.deepEqual(strays('gateway/app.ts', `import { x } from './config';`), ['./config']);
  t.deepEqual(strays('gateway/endpoints/table.ts', `import { x } from '../app.ts';`), []);
  const broken = files.flatMap((file) => strays(file, read(file)).map((specifier) => `${file}: ${specifier}`));
  t.deepEqual(broken, []);
});

for (const workspace of ['services/graph', 'services/execution']) {
  test(`in ${workspace} files and folders form layers: none imports what stands above it, types included`, (t) => {
    t.deepEqual(
      circlesOf('a', ['a/x/one.ts', 'a/y/two.ts'], () => `import type { T } from '../y/two.ts';`),
      [],
    );
    t.deepEqual(
      circlesOf('a', ['a/x/one.ts', 'a/x/other.ts', 'a/y/two.ts'], (file) =>
        file === 'a/x/one.ts' ? `import { two } from '../y/two.ts';` : `import type { O } from '../x/other.ts';`,
      ),
      ['a/: x, y'],
    );
    const own = files.filter((file) => file.startsWith(`${workspace}/`) && !tests.test(file));
    t.true(own.length > 0);
    t.deepEqual(circlesOf(workspace, own, read), []);
  });
}

for (const workspace of ['services/graph', 'services/execution']) {
  test(`${workspace} names each file that others may import`, (t) => {
    const open = (exports: object): string[] => Object.keys(exports).filter((entry) => entry.includes('*'));
    t.deepEqual(open({ './*': './*.ts', './open': './open.ts' }), ['./*']);
    const { exports } = JSON.parse(read(`${workspace}/package.json`)) as { exports: object };
    t.deepEqual(open(exports), []);
  });
}

test('kit is a closed list', (t) => {
  const known = [
    'each.ts',
    'env.ts',
    'errors.ts',
    'ids.ts',
    'keyed-lock.ts',
    'life.ts',
    'log.ts',
    'pages.ts',
    'request-context.ts',
    'sizes.ts',
    'turns.ts',
  ];
  const kit = files.filter((file) => file.startsWith('services/kit/') && !tests.test(file));
  t.deepEqual(kit.map((file) => file.slice('services/kit/'.length)).toSorted(), known);
});

test('the top level is a closed list', (t) => {
  const known = new Set(
    'package.json package-lock.json tsconfig.base.json service.json README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md LICENSE protos services gateway deploy test'.split(
      ' ',
    ),
  );
  const left = /^\.|^node_modules$|^coverage$|\.log$/;
  t.deepEqual(
    readdirSync(root).filter((name) => !known.has(name) && !left.test(name)),
    [],
  );
});

test('files are named in kebab-case, for what they export', (t) => {
  const name = /^[a-z0-9]+([-.][a-z0-9]+)*\.(ts|js)$/;
  const nothing = /^(utils?|types?|helpers?|common-utils|misc)\.ts$/;
  const bad = (file: string): boolean => !name.test(posix.basename(file)) || nothing.test(posix.basename(file));
  t.deepEqual(['a/utils.ts', 'a/RunLog.ts', 'a/run_log.ts', 'a/run-log.ts', 'a/graph.stream.ts'].map(bad), [
    true,
    true,
    true,
    false,
    false,
  ]);
  t.deepEqual(files.filter(bad), []);
});

test('the rules look at files that are there', (t) => {
  for (const workspace of ['protos/', 'services/kit/', 'test/']) {
    t.true(
      files.some((file) => file.startsWith(workspace)),
      workspace,
    );
  }
  const known = new Set(files);
  t.deepEqual(
    allArrows.filter(([, to]) => !known.has(to)),
    [],
  );
});

function breaks({ files: covered, except, imports, text }: Rule, file: string, source: string): boolean {
  if (!covered.test(file) || except?.test(file)) return false;
  if (text?.test(source)) return true;
  return imports !== undefined && specifiersOf(source).some((specifier) => imports.test(targetOf(file, specifier)));
}

/** Every module that a source names: in `import … from`, `export … from`, `import '…'` and `import('…')`. */
const specifiersOf = (source: string): string[] =>
  [
    ...source.matchAll(/^(?:import|export)\b[^;'"`]*?\bfrom\s*['"]([^'"]+)['"]|\bimport\s*\(?\s*['"]([^'"]+)['"]/gm),
  ].flatMap(([, from, bare]) => from ?? bare ?? []);

function targetOf(file: string, specifier: string): string {
  if (specifier.startsWith('.')) return `/${posix.join(posix.dirname(file), specifier)}`.replace(/\.(ts|js)$/, '');
  const [, folder, rest] = /^@agent-workflow\/([\w-]+)(.*)$/.exec(specifier) ?? [];
  if (folder === undefined) return specifier;
  const home = ['gateway', 'protos', 'test'].includes(folder) ? folder : `services/${folder}`;
  return `/${home}${rest ?? ''}`;
}

/**
 * The circles of imports below a folder: in each folder, those among its files and subfolders that import each other, be it
 * by way of others. What a file imports from outside the folder is not looked at.
 */
function circlesOf(folder: string, all: readonly string[], sourceOf: (file: string) => string): string[] {
  const imports = all.flatMap((file) =>
    specifiersOf(sourceOf(file))
      .filter((specifier) => specifier.startsWith('.'))
      .map((specifier) => [file, posix.join(posix.dirname(file), specifier)] as const),
  );
  const folders = new Set(all.flatMap((file) => foldersOf(file, folder)));
  return [...folders].toSorted().flatMap((place) => {
    const roomOf = (file: string): string | undefined =>
      file.startsWith(`${place}/`) ? file.slice(place.length + 1).split('/')[0] : undefined;
    const arrows = imports.flatMap(([from, to]) => {
      const [room, other] = [roomOf(from), roomOf(to)];
      return room === undefined || other === undefined || room === other ? [] : [[room, other] as const];
    });
    const left = inCircles(arrows);
    return left.length === 0 ? [] : [`${place}/: ${left.join(', ')}`];
  });
}

/** The folders that a file stands in, from its own up to `top`. */
const foldersOf = (file: string, top: string): readonly string[] => {
  const folder = posix.dirname(file);
  return folder === top ? [top] : [folder, ...foldersOf(folder, top)];
};

/** What is left when everything is taken away that imports nothing else, or that nothing else imports. */
function inCircles(arrows: readonly (readonly [string, string])[]): string[] {
  const froms = new Set(arrows.map(([from]) => from));
  const tos = new Set(arrows.map(([, to]) => to));
  const kept = arrows.filter(([from, to]) => tos.has(from) && froms.has(to));
  return kept.length === arrows.length ? [...froms].toSorted() : inCircles(kept);
}

function strays(file: string, source: string): string[] {
  const relative = specifiersOf(source).filter((specifier) => specifier.startsWith('.'));
  return relative.filter((specifier) => {
    const target = posix.join(posix.dirname(file), specifier);
    return workspaceOf(target) !== workspaceOf(file) || !/\.(ts|js|json)$/.test(specifier);
  });
}

const workspaceOf = (file: string): string => /^(services\/)?[^/]+/.exec(file)?.[0] ?? '';

const read = (file: string): string => readFileSync(posix.join(root, file), 'utf8');

/** Where files, or a folder and one below it, import each other. */
const knotted = /^services\/(threads|execution|memory)\/|^test\/contract\/threads/;

type Arrow = readonly [from: string, to: string];

/** Each import of one file of ours by another, types included; tests are imported by nobody. */
const allArrows: readonly Arrow[] = files
  .filter((file) => !file.endsWith('.test.ts'))
  .flatMap((file) => specifiersOf(read(file)).flatMap((specifier) => toArrow(file, specifier)));

function toArrow(file: string, specifier: string): readonly Arrow[] {
  if (!/^\.|^@agent-workflow\//.test(specifier)) return [];
  const target = specifier.startsWith('.')
    ? posix.join(posix.dirname(file), specifier)
    : posix.relative(root, fileURLToPath(import.meta.resolve(specifier)));
  return [[file, target]];
}

/** The arrows between folders that those between files come to. */
const betweenFolders = (arrows: readonly Arrow[]): Arrow[] =>
  arrows
    .map(([from, to]): Arrow => [posix.dirname(from), posix.dirname(to)])
    .filter(([from, to]) => from !== to && workspaceOf(from) === workspaceOf(to));

function upwards(...arrows: readonly Arrow[]): string[] {
  const rowOf = (file: string): number => gatewayLayers.findIndex((row) => row.includes(layerNameOf(file)));
  const up = betweenFolders(arrows.filter(([from, to]) => rowOf(to) >= rowOf(from)));
  return [...new Set(up.map(([from, to]) => `${from} > ${to}`))];
}

const layerNameOf = (file: string): string => posix.relative('gateway', posix.dirname(file)) || '.';
