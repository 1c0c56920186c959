import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import test from 'ava';
import openapiTypescript, { astToString } from 'openapi-typescript';
import { openEmbedded } from '../servers/embedded.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));
const agent = fileURLToPath(import.meta.resolve('@agent-workflow/command/init/template/agent'));

/** The tour of the README, as somebody writes it who has the document alone. What follows a line of `@ts-expect-error` must not compile. */
const tour = await readFile(new URL('generated-tour.txt', import.meta.url), 'utf8');

const compiler = {
  ...{ strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, noUnusedLocals: true },
  ...{ module: 'nodenext', target: 'es2024', lib: ['es2024', 'dom', 'dom.iterable'], types: [] },
  ...{ noEmit: true, allowImportingTsExtensions: true, skipLibCheck: true },
};

test('a client whose types are generated from the document compiles, and takes the tour of the README', async (t) => {
  await using service = await openEmbedded(null, {}, { agent: `${agent}:graph` });
  const folder = await mkdtemp(join(tmpdir(), 'generated-client-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const document = await (await fetch(`${service.url}/openapi.json`)).text();
  const types = astToString(await openapiTypescript(document, { defaultNonNullable: false }));
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  for (const [name, text] of Object.entries({
    'api.ts': types,
    'tour.ts': tour,
    'package.json': '{"type": "module"}',
    'tsconfig.json': JSON.stringify({ compilerOptions: compiler, files: ['tour.ts'] }),
  }))
    await writeFile(join(folder, name), text);
  const compiled = await run(join(root, 'node_modules', '.bin', 'tsc'), ['-p', folder]).catch(
    (error: unknown) => error,
  );
  t.is((compiled as { readonly stdout?: string }).stdout, '');
  const { takeTour } = (await import(pathToFileURL(join(folder, 'tour.ts')).href)) as {
    readonly takeTour: (url: string) => Promise<unknown>;
  };
  t.like(await takeTour(service.url), {
    answer: '12 * 7 = 84',
    inBlocks: '6 * 7 = 42',
    context: 'I will remember: my favourite tea is sencha',
    ended: 'completed',
    found: 'The harbour café opens at six',
    threads: ['A tour'],
    message: 'Remember that my favourite tea is sencha',
    name: 'Ada',
    runs: ['completed', 'completed'],
    refused: ['VALIDATION_ERROR', 'body.messages'],
    isDeleted: true,
    isGone: 'RESOURCE_NOT_FOUND',
  });
});
