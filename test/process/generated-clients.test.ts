import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { openEmbedded } from '../servers/embedded.ts';
import { provisioned, usable } from '../servers/provisioned.ts';
import { withServer } from '../servers/real-suite.ts';
import type { Launcher } from '../servers/real.ts';

const agent = fileURLToPath(import.meta.resolve('@agent-workflow/command/init/template/agent'));
const tourOf = (language: 'go' | 'py'): string =>
  fileURLToPath(new URL(`generated/tour.${language}.txt`, import.meta.url));

/** What reads the description of the interface: there is nothing to open. */
const generators: Launcher<object> = {
  title: 'the generators of clients',
  absence: () =>
    usable('generators') === undefined
      ? 'generators: absent, and with that what the description of the interface is tried with: run `npm run servers -- generators` and set REQUIRE_SERVERS=1'
      : undefined,
  open: async () => ({ [Symbol.asyncDispose]: async () => undefined }),
};

interface Options {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** What a command prints. @throws Error with that when it fails. */
async function printed(command: string, args: readonly string[], { cwd, env = {} }: Options): Promise<string> {
  const options = { cwd, env: { ...process.env, ...env }, maxBuffer: 64 * 1024 * 1024 };
  const { stdout, stderr } = await promisify(execFile)(command, args, options);
  return stdout + stderr;
}

const tools = (): string => provisioned('generators') ?? '';

/** A service, and a folder with its description of the interface, both as long as the test. */
async function open(t: ExecutionContext): Promise<{ readonly url: string; readonly folder: string }> {
  const service = await openEmbedded(null, {}, { agent: `${agent}:graph` });
  const folder = await mkdtemp(join(tmpdir(), 'generated-clients-'));
  t.teardown(async () => {
    await service[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });
  await writeFile(join(folder, 'openapi.json'), await (await fetch(`${service.url}/openapi.json`)).text());
  return { url: service.url, folder };
}

const tour = ['invoked completed', 'streamed on_chain_end', 'refused RESOURCE_NOT_FOUND'];

withServer(test, generators, () => {
  test('a linter of descriptions finds no error in that of the interface', async (t) => {
    const { folder } = await open(t);
    const redocly = join(tools(), 'redocly/node_modules/.bin/redocly');
    const env = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
    const found = await printed(redocly, ['lint', 'openapi.json', '--format=summary'], { cwd: folder, env });
    t.regex(found, /is valid/);
  });

  test('a client that is generated for Go compiles, invokes, reads a stream and reads an error', async (t) => {
    const { url, folder } = await open(t);
    await mkdir(join(folder, 'api'));
    await writeFile(
      join(folder, 'go.mod'),
      'module tour\n\ngo 1.26\n\nrequire github.com/oapi-codegen/runtime v1.9.0\n',
    );
    await copyFile(tourOf('go'), join(folder, 'main.go'));
    const generate = ['-generate', 'types,client', '-package', 'api', '-o', 'api/api.go', 'openapi.json'];
    await printed(join(tools(), 'oapi-codegen'), generate, { cwd: folder });
    await printed('go', ['mod', 'tidy'], { cwd: folder });
    await printed('go', ['vet', './...'], { cwd: folder });
    t.deepEqual((await printed('go', ['run', '.', url], { cwd: folder })).trim().split('\n'), tour);
  });

  test('a client that is generated for Python is whole, invokes, reads a stream and reads an error', async (t) => {
    const { url, folder } = await open(t);
    const env = { PYTHONPATH: join(tools(), 'python') };
    const generate = ['generate', '--path', 'openapi.json', '--meta', 'none', '--output-path', 'api'];
    const output = await printed('python3', ['-m', 'openapi_python_client', ...generate], { cwd: folder, env });
    t.false(/^(WARNING|ERROR)/m.test(output), output.slice(0, 2000));
    await copyFile(tourOf('py'), join(folder, 'tour.py'));
    t.deepEqual((await printed('python3', ['tour.py', url], { cwd: folder, env })).trim().split('\n'), tour);
  });
});
