import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import test from 'ava';

const standalone = new URL('./standalone.ts', import.meta.url).href;
/** Packages that talk to a server: the single process needs none of them, and each takes memory and time at its start. */
const drivers = [
  'nats',
  'nkeys.js',
  'cassandra-driver',
  'redis',
  '@redis/client',
  'weaviate-ts-client',
  '@grpc/grpc-js',
];

test('the single process loads no driver of a server', (t) => {
  const loaded = loadedBy(standalone);
  t.true(loaded.includes('koa'), 'the packages that are loaded are seen');
  t.deepEqual(
    drivers.filter((name) => loaded.includes(name)),
    [],
  );
});

/** Names of the packages that a process loads which imports a module. */
function loadedBy(url: string): readonly string[] {
  const program = `import { registerHooks } from 'node:module';
    const urls = [];
    registerHooks({ resolve: (name, context, next) => {
      const resolved = next(name, context);
      urls.push(resolved.url);
      return resolved;
    } });
    await import(${JSON.stringify(url)});
    process.stdout.write(JSON.stringify(urls), () => process.exit());`;
  const urls = JSON.parse(
    execFileSync(process.execPath, ['--input-type=module', '--eval', program], {
      cwd: fileURLToPath(new URL('.', import.meta.url)),
      encoding: 'utf8',
    }),
  ) as string[];
  return [...new Set(urls.flatMap((each) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(each)?.[1] ?? []))];
}
