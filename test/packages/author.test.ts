import { existsSync } from 'node:fs';
import { cp, readdir, readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { processEnv } from '@agent-workflow/kit/env';
import test, { type ExecutionContext } from 'ava';
import { cookbook, cookbookResult, testCookbook } from '../cookbook.ts';
import { npmInstalls, run } from '../npm.ts';
import { createClient, user } from '../servers/client.ts';
import { until } from '../until.ts';
import { layOutOwnImage } from './own-image.ts';
import { openFolder, packAll, serve, usual, type Serving, type Tarballs } from './project.ts';
import { byLoad } from '../by-load.ts';

let tarballs: Tarballs = {};

if (processEnv()['PACKAGES'] === '1') author();
else test.skip('packages are tested by `npm run test:packages`', () => undefined);

function author(): void {
  const opened = new AsyncDisposableStack();
  test.serial.before('the packages are built', async (t) => {
    t.timeout(byLoad(600_000));
    tarballs = await packAll(opened.use(await openFolder()).folder);
  });
  test.after.always(() => opened.disposeAsync());

  test.serial(
    'an author installs the packages, and type-checks, tests, serves and edits an agent in TypeScript',
    async (t) => {
      t.timeout(byLoad(600_000));
      await isWritten(t, 'ts', async (project) => {
        await run(project, 'npm', 'run', 'types');
      });
    },
  );

  test.serial('an author does the same in plain JavaScript', async (t) => {
    t.timeout(byLoad(600_000));
    await isWritten(t, 'js', async () => undefined);
  });

  test.serial('the agents of the cookbook type-check and pass their tests in a folder of their own', async (t) => {
    t.timeout(byLoad(300_000));
    const began = performance.now();
    await using outside = await openFolder();
    await cp(cookbook, outside.folder, { recursive: true });
    await npmInstalls(outside.folder, 'install', tarballs['@agent-workflow/graph'] ?? '');
    await run(outside.folder, 'npm', 'run', 'types');
    t.deepEqual(await testCookbook(outside.folder), cookbookResult);
    t.log(`${((performance.now() - began) / 1000).toFixed(1)} s`);
  });

  test.serial("a team's own image, as its Containerfile in deploy/team builds it, serves its agent", async (t) => {
    t.timeout(byLoad(300_000));
    await using outside = await openFolder();
    const image = await layOutOwnImage(outside.folder, tarballs);
    t.regex(await run(image.folder, image.program, 'agents'), /support/);
    await using service = serve(image.folder, image.args, { ...image.env, ...settings, DATA_DIR: '.data' });
    await until(() => urlIn(service) !== undefined, { timeoutMs: 60_000 });
    t.regex(await answerOf(urlIn(service) ?? '', 'one'), /The support team has your message\./);
  });

  test.serial('every link on the pages of a package leads to a file of it', async (t) => {
    // Packages are laid out beside their tarballs, each in a folder of its own.
    const home = dirname(tarballs['@agent-workflow/graph'] ?? '');
    // The authors' guide beside the docs is linked when /docs shows it.
    const pages = (await readdir(home, { recursive: true })).filter(
      (path) => path.endsWith('.md') && !path.includes('gateway/pages/assets/authors/'),
    );
    const names = ['README.md', 'guide/tools.md', 'LANGGRAPH.md', 'MCP.md', 'cookbook/README.md'];
    t.deepEqual(
      names.filter((name) => !pages.includes(join('services/graph', name))),
      [],
    );
    const links = await Promise.all(pages.map(async (page) => linksOn(join(home, page))));
    t.true(links.flat().length > 10);
    t.deepEqual(
      links.flat().filter((path) => !existsSync(path)),
      [],
    );
  });

  test.serial(
    'the tools of an MCP server need a package that the error names, and are called once it is there',
    async (t) => {
      t.timeout(byLoad(600_000));
      await using outside = await openFolder();
      const { folder } = outside;
      await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
      await writeFile(join(folder, 'server.js'), mcpServer);
      await writeFile(join(folder, 'agent.js'), mcpAgent);
      await npmInstalls(folder, 'install', tarballs['@agent-workflow/graph'] ?? '');
      await t.throwsAsync(run(folder, 'node', 'agent.js'), { message: /npm install @modelcontextprotocol\/client/ });
      await npmInstalls(folder, 'install', '@modelcontextprotocol/client@2.4.0', '@modelcontextprotocol/server@2.4.0');
      t.regex(await run(folder, 'node', 'agent.js'), /hello, Ada/);
    },
  );
}

/** The files to which the relative links of a page lead. */
async function linksOn(page: string): Promise<readonly string[]> {
  const text = (await readFile(page, 'utf8')).replaceAll(/^ *```[^]*?^ *```$/gm, '');
  const targets = [...text.matchAll(/\]\(([^()\s#:]+)(?:#[^()\s]*)?\)/g)].map(([, path = '']) => path);
  return targets.map((path) => join(dirname(page), path));
}

const mcpServer = `
import { fromJsonSchema, McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

serveStdio(() => {
  const server = new McpServer({ name: 'greeter', version: '1.0.0' });
  const inputSchema = fromJsonSchema({ type: 'object', properties: { name: { type: 'string' } } });
  const greet = async ({ name }) => ({ content: [{ type: 'text', text: 'hello, ' + name }] });
  server.registerTool('greet', { inputSchema }, greet);
  return server;
});
`;

const mcpAgent = `
import { createReactAgent } from '@agent-workflow/graph';
import { mcpTools } from '@agent-workflow/graph/mcp';
import { fakeModel, user, walk } from '@agent-workflow/graph/testing';

const tools = await mcpTools({ command: process.execPath, args: ['server.js'] });
const model = fakeModel([{ call: 'greet', args: { name: 'Ada' } }, 'Done.']);
const { state } = await walk(createReactAgent({ model, tools }), { context: [user('Hello!')] });
console.log(JSON.stringify(state.context));
await tools.close();
`;

const settings = { PORT: '0', HOST: '127.0.0.1', METRICS_PORT: '0', LOG_LEVEL: 'warn' };

/** The address of the latest start among the lines of a service. */
const urlIn = ({ lines }: Serving): string | undefined =>
  lines
    .findLast((line) => line.includes('listens on http'))
    ?.split(' ')
    .at(-1);

async function answerOf(url: string, threadId: string): Promise<string> {
  const { status, body } = await createClient(url).send('POST', '/v1/graph/invoke', {
    messages: [user('What is 2 + 3?')],
    config: { thread_id: threadId },
  });
  if (status !== 200) throw new Error(JSON.stringify(body));
  return JSON.stringify((body.data as { readonly messages: unknown }).messages);
}

/** What an author may wait from nothing to the answer of an edited agent, with an empty cache of packages. */
const maxSeconds = 240;

/** From nothing to an answer, an edit, and the other answer. */
async function isWritten(
  t: ExecutionContext,
  language: 'ts' | 'js',
  more: (folder: string) => Promise<void>,
): Promise<void> {
  await using outside = await openFolder();
  const { folder } = outside;
  const clock = startClock();

  await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
  await npmInstalls(folder, 'install', ...usual(tarballs));
  clock.did('npm install <the tarballs>');
  const made = await run(folder, 'npx', 'agent-workflow', 'init', 'demo', ...(language === 'js' ? ['--js'] : []));
  const [, packages = ''] = /\nNext: cd demo && npm install (.*) && npm run dev\n$/.exec(made) ?? [];
  clock.did('npx agent-workflow init demo');
  const again = run(folder, 'npx', 'agent-workflow', 'init');
  await t.throwsAsync(again, { message: /is not empty: it holds/ }, 'a folder that holds a project is left as it is');
  const project = join(folder, 'demo');
  await npmInstalls(project, 'install', ...packages.split(' '));
  clock.did('npm install, as init said');

  const agent = join(project, `agent.${language}`);
  const written = await readFile(agent, 'utf8');
  await servesEdited(t, project, agent, clock);
  t.log(clock.summary());
  t.true(clock.seconds() < maxSeconds, clock.summary());

  await writeFile(agent, written);
  await more(project);
  t.regex(await run(project, 'npm', 'test'), /pass [1-9][^]*fail 0/);
  t.regex(await run(project, 'npx', 'agent-workflow', 'check'), /tools {4}calculate/);
  t.log(`checked and tested after ${clock.seconds().toFixed(1)} s`);
}

/** The agent answers, is edited, and answers anew on the same thread; an edit with a fault is named by its line. */
async function servesEdited(t: ExecutionContext, project: string, agent: string, clock: Clock): Promise<void> {
  await using service = serve(project, ['dev'], { ...settings });
  await until(() => urlIn(service) !== undefined, { timeoutMs: 60_000 });
  const first = urlIn(service) ?? '';
  t.regex(await answerOf(first, 'one'), /2 \+ 3 = 5/);
  clock.did('npx agent-workflow dev, and an answer');

  await writeFile(agent, (await readFile(agent, 'utf8')).replace('} = $', '} makes $'));
  await until(() => urlIn(service) !== first, { timeoutMs: 60_000 });
  t.regex(await answerOf(urlIn(service) ?? '', 'one'), /2 \+ 3 makes 5/);
  clock.saw('the edited agent answers');
  const { body } = await createClient(urlIn(service) ?? '').send('GET', '/v1/threads/one/state');
  t.is((body.data as { readonly state: { readonly context: unknown[] } }).state.context.length, 8, 'the thread stays');

  await writeFile(agent, 'export const graph = 1 +;');
  await until(() => service.lines.some((line) => line.includes(`${basename(agent)}:1`)), { timeoutMs: 60_000 });
}

interface Clock {
  /** A command is done. */
  readonly did: (command: string) => void;
  /** Something was seen without another command. */
  readonly saw: (what: string) => void;
  readonly seconds: () => number;
  /** Each step with the time at its end. */
  readonly summary: () => string;
}

function startClock(): Clock {
  const began = performance.now();
  const steps: string[] = [];
  let commands = 0;
  const seconds = (): number => (performance.now() - began) / 1000;
  const saw = (what: string): void => void steps.push(`${seconds().toFixed(1)} s ${what}`);
  return {
    did: (command) => {
      commands += 1;
      saw(command);
    },
    saw,
    seconds,
    summary: () => `${String(commands)} commands: ${steps.join('; ')}`,
  };
}
