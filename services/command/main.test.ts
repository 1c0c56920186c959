import { execFile, spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';

const main = fileURLToPath(new URL('./main.ts', import.meta.url));

interface Ended {
  readonly code: number;
  readonly printed: string;
}

const run = (cwd: string, ...args: readonly string[]): Promise<Ended> =>
  new Promise((resolve) => {
    const env = { ...process.env, THREAD_STORE: 'oracle' };
    execFile(process.execPath, [main, ...args], { cwd, env }, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, printed: stdout + stderr });
    });
  });

test('a version of Node that does not run this tree is refused with one line before anything else is loaded', (t) => {
  const entry = fileURLToPath(new URL('./entry.js', import.meta.url));
  const disguise = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } });`;
  const disguised = ['--import', `data:text/javascript,${encodeURIComponent(disguise)}`, entry, '--version'];
  const refused = spawnSync(process.execPath, disguised, { encoding: 'utf8' });
  t.like(refused, { status: 1, stdout: '' });
  t.regex(refused.stderr, /^Node 24\.12 or newer is needed, this is 20\.20\.2\.[^\n]+\n$/);
  const passed = spawnSync(process.execPath, [entry, '--version'], { encoding: 'utf8' });
  t.like(passed, { status: 0, stderr: '' });
  t.regex(passed.stdout, /^\d+\.\d+\.\d+\n$/);
});

test('a start, a check and a migration that are refused end with 1, and what is not known with 2 and what to use instead', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'command-'));
  t.teardown(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'service.json'), JSON.stringify({ agent: './absent.ts:graph' }));
  for (const command of ['start', 'check', 'agents']) {
    const { code, printed } = await run(folder, command);
    t.is(code, 1, printed);
    t.regex(printed, /there is no module "\.\/absent\.ts"/);
  }
  t.is((await run(folder, 'migrate')).code, 1, 'there is no such store');
  t.is((await run(folder, 'strat')).code, 2);
  const started = await run(folder, 'start', 'gatway');
  t.is(started.code, 2);
  t.regex(started.printed, /^there is no process "gatway": use one of standalone, /);
  const action = await run(folder, 'agents', 'rout');
  t.is(action.code, 2);
  t.regex(action.printed, /^unknown command "agents rout": use register or route\n/);
  t.is((await run(folder, '--help')).code, 0);
});

test('the permissions of a pool on NATS are printed, and a name that is none is refused', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'command-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const given = ['nats-permissions', '--agent', 'default', '--revision', 'v1', '--prefix', 'team'];
  const { code, printed } = await run(folder, ...given);
  t.is(code, 0, printed);
  t.regex(printed, /"\$JS\.API\.CONSUMER\.MSG\.NEXT\.team_QUEUE\.37a8eec1-0"/);
  t.regex(printed, /"team\.events\.37a8eec1\.\*"/);
  const inAccount = await run(folder, ...given, '--account', 'TEAM');
  t.is(inAccount.code, 0, inAccount.printed);
  t.regex(inAccount.printed, /service: "team\.events\.37a8eec1\.\*", accounts: \[TEAM\]/);
  t.regex(inAccount.printed, /stream: \{ account: SERVICE, subject: "team\.control\.37a8eec1\.\*" \}/);
  t.regex(inAccount.printed, /limits: \{ max_connections: 1000, max_subscriptions: \d+, max_payload: 1048576 \}/);
  for (const name of ['a b', '', 'SERVICE', '}']) t.is((await run(folder, ...given, '--account', name)).code, 2, name);
  t.is((await run(folder, 'nats-permissions')).code, 2);
  t.is((await run(folder, 'nats-permissions', '--agent', 'a"}')).code, 2);
  for (const prefix of ['>', '_INBOX', '_INBOX_8ed3f6ad'])
    t.is((await run(folder, ...given, '--inbox-prefix', prefix)).code, 2, prefix);
});

test('the accounts of several pools are printed with that of the service, and pools that do not fit together are refused', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'command-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const permissions = async (...args: readonly string[]): Promise<Ended> => run(folder, 'nats-permissions', ...args);
  const support = ['--pool', 'SUPPORT=support@1.4.0,support@1.5.0'];
  const { code, printed } = await permissions(...support, '--pool', 'BILLING=billing,dunning@a@b');
  t.is(code, 0, printed);
  for (const name of ['SERVICE', 'SUPPORT', 'BILLING'])
    t.regex(printed, new RegExp(`  ${name}: \\{\n[^]*password: \\$${name}_PASSWORD`));
  t.regex(printed, /^accounts \{\n[^]*\n\}\n$/);
  t.is(printed.match(/limits:/g)?.length, 2, 'the account of the service has none');
  const refused: readonly (readonly [args: readonly string[], why: RegExp])[] = [
    [['--pool', 'SUPPORT'], /names no agent/],
    [['--pool', 'SUPPORT=a b'], /"a b" is no name of an agent/],
    [['--pool', 'SUPPORT=support@'], /"" is no revision/],
    [['--pool', 'a}=support'], /"a\}" is no name of an account/],
    [['--pool', 'Service=support'], /two accounts have the name "service"/],
    [[...support, '--pool', 'Support=billing'], /two accounts have the name "support"/],
    [[...support, '--pool', 'BILLING=support'], /agent "support" is in two pools/],
    [[...support, '--agent', 'billing'], /no --agent/],
    [[...support, '--inbox-prefix', '_INBOX_x'], /--inbox-prefix is of one pool/],
    [[...support, '--prefix', '>'], /">" is no prefix/],
    [
      ['--pool', 'SUPPORT=support@1.0.105136', '--pool', 'BILLING=billing@2.0.2402'],
      /"support@1\.0\.105136" and "billing@2\.0\.2402" have one hash, b1e4a220/,
    ],
  ];
  for (const [args, why] of refused) {
    const ended = await permissions(...args);
    t.is(ended.code, 2, args.join(' '));
    t.regex(ended.printed, why);
  }
});

test('an agent whose module ends the process stops a start and a check with one line', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'command-'));
  t.teardown(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'agent.ts'), 'process.exit(0);');
  await writeFile(join(folder, 'service.json'), JSON.stringify({ agent: './agent.ts:graph' }));
  for (const command of ['start', 'check']) {
    const { code, printed } = await run(folder, command);
    t.is(code, 1, printed);
    t.regex(printed, /agent "\.\/agent\.ts:graph": "\.\/agent\.ts" does not load: it, .* ends the process\n$/);
  }
});

test('a project that a clone writes takes its packages from tarballs of the clone, which are made before', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'command-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const { code, printed } = await run(folder, 'init', 'demo');
  t.is(code, 0, printed);
  const [, pack = '', enter, install = '', dev] = /\n\nNext: (.*) && (.*) && (.*) && (.*)\n$/.exec(printed) ?? [];
  t.deepEqual([enter, dev], ['cd demo', 'npm run dev']);
  const clone = fileURLToPath(new URL('../..', import.meta.url));
  const [, prefix = ''] = /^npm run --prefix (\S+) pack$/.exec(pack) ?? [];
  t.is(join(folder, prefix, '/'), clone);
  const tarballs = install.split(' ').filter((word) => word.endsWith('.tgz'));
  t.deepEqual(
    tarballs.map((path) => relative(clone, join(folder, 'demo', path)).replace(/-\d+\.\d+\.\d+/, '')),
    ['graph', 'auth', 'client', 'server'].map((name) => join('.cache', 'packages', `agent-workflow-${name}.tgz`)),
  );
});

test('a project that cannot be written is refused with one line', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'command-'));
  t.teardown(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'file'), 'kept');
  for (const path of ['file', 'file/inside']) {
    const { code, printed } = await run(folder, 'init', path);
    t.is(code, 1, printed);
    t.regex(printed, /^no project can be written there: ENOTDIR[^\n]*\n$/);
  }
});

test('a command whose reader ends first ends without an error', (t) => {
  const command = 'set -o pipefail; "$0" "$1" --help | true';
  const { status, stderr } = spawnSync('bash', ['-c', command, process.execPath, main], { encoding: 'utf8' });
  t.deepEqual({ status, stderr }, { status: 0, stderr: '' });
});

test('a check ends, though the agent keeps something open that would hold its process', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'command-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const graph = new URL('../graph/index.ts', import.meta.url).href;
  const agent = `import { END, START, StateGraph } from '${graph}';
    setInterval(() => undefined, 1000);
    export const graph = new StateGraph({}).addNode('one', () => undefined).addEdge(START, 'one').addEdge('one', END).compile();`;
  await writeFile(join(folder, 'agent.ts'), agent);
  await writeFile(join(folder, 'service.json'), JSON.stringify({ agent: './agent.ts:graph' }));
  const { code, printed } = await run(folder, 'check');
  t.is(code, 0, printed);
  t.regex(printed, /nodes {4}one/);
});

test('what the code of an agent throws after it was loaded is a warning of a check, as it ends no start', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'command-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const graph = new URL('../graph/index.ts', import.meta.url).href;
  const agent = `import { START, StateGraph } from '${graph}';
    setTimeout(() => { throw new Error('no database'); });
    void Promise.reject(new Error('no connection'));
    export const graph = new StateGraph({}).addNode('one', () => undefined).addEdge(START, 'one').compile();
    await new Promise((resolve) => setTimeout(resolve, 20));`;
  await writeFile(join(folder, 'agent.ts'), agent);
  await writeFile(join(folder, 'service.json'), JSON.stringify({ agent: './agent.ts:graph' }));
  const { code, printed } = await run(folder, 'check');
  t.is(code, 0, printed);
  t.regex(printed, /nodes {4}one/);
  t.regex(
    printed,
    /warning: code of the agent threw an error that nothing catches: Error: no database\n +at .*agent\.ts:2/,
  );
  t.regex(printed, /warning: a promise that no code awaits was rejected: Error: no connection\n/);
});

test('a package that changes the prototypes of everybody is named by a check', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'command-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const inPackage = join(folder, 'node_modules/old-sugar');
  await mkdir(inPackage, { recursive: true });
  await writeFile(
    join(inPackage, 'package.json'),
    JSON.stringify({ name: 'old-sugar', type: 'module', exports: './index.js' }),
  );
  await writeFile(join(inPackage, 'index.js'), 'Array.prototype.lastOfAll = function () {};\n');
  const graph = new URL('../graph/index.ts', import.meta.url).href;
  const agent = `import 'old-sugar';
    import { START, StateGraph } from '${graph}';
    export const graph = new StateGraph({}).addNode('one', () => undefined).addEdge(START, 'one').compile();`;
  await writeFile(join(folder, 'agent.ts'), agent);
  await writeFile(join(folder, 'service.json'), JSON.stringify({ agent: './agent.ts:graph' }));
  const { code, printed } = await run(folder, 'check');
  t.is(code, 0, printed);
  t.regex(printed, /^warning: old-sugar has changed Array\.prototype\.lastOfAll for all code of this process/m);
});

test('a service without agents passes a check, as it starts, and has none to list', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'command-'));
  t.teardown(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'service.json'), '{}');
  const checked = await run(folder, 'check', '--schema');
  t.is(checked.code, 0, checked.printed);
  t.regex(checked.printed, /^agent {4}none: requests that run one are 404\ncallers {2}auth: none/);
  t.deepEqual(await run(folder, 'agents'), { code: 1, printed: 'service.json names no agent\n' });
  await writeFile(join(folder, 'service.json'), JSON.stringify({ default_agent: 'support' }));
  t.regex((await run(folder, 'check')).printed, /default_agent names one of agents, and there are none\n$/);
});

test('a check of several agents describes and draws each under its name', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'command-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const graph = new URL('../graph/index.ts', import.meta.url).href;
  const draw = (node: string): string => `import { START, StateGraph } from '${graph}';
    export const graph = new StateGraph({}).addNode('${node}', () => undefined).addEdge(START, '${node}').compile();`;
  await writeFile(join(folder, 'one.ts'), draw('first'));
  await writeFile(join(folder, 'two.ts'), draw('second'));
  const agents = { support: './one.ts:graph', office: './two.ts:graph' };
  await writeFile(join(folder, 'service.json'), JSON.stringify({ agents }));
  const checked = await run(folder, 'check');
  t.is(checked.code, 0, checked.printed);
  t.regex(checked.printed, /agent {4}support\nnodes {4}first\n[^]*agent {4}office\nnodes {4}second\n/);
  t.regex(checked.printed, /%% support\ngraph TD\n[^]*first[^]*%% office\ngraph TD\n[^]*second/);
  t.regex((await run(folder, 'agents')).printed, /agent {4}support\n[^]*agent {4}office\n/);
});

test('an address with a password and a file without a token are refused without what they hold', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'command-'));
  t.teardown(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'token'), 'secret\ntoken\n');
  const route = ['agents', 'route', 'support', '--current', 'v1', '--url'];
  const address = await run(folder, ...route, 'http://user:secret@127.0.0.1:1');
  t.is(address.code, 2);
  t.regex(address.printed, /^--url must be the address of a gateway, as [^ ]+, without a user\n/);
  const file = await run(folder, ...route, 'http://127.0.0.1:1', '--token-file', 'token');
  t.deepEqual(file, { code: 1, printed: '--token-file token must hold a token alone, in one line\n' });
  t.notRegex(address.printed, /secret/);
});
