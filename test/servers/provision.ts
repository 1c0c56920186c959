import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { setPriority } from 'node:os';
import { join } from 'node:path';
import { readCommandLine } from '@agent-workflow/kit/command-line';
import { serverWays, toolWays, type Way } from './provision-ways.ts';
import { folderOf, onPath, provisioned, serversFolder } from './provisioned.ts';
import { isAlive } from './real-process.ts';

/** Exit codes: all is there, something cannot be had, the command line names what nobody knows. */
const allThere = 0;
const someAbsent = 1;
const misused = 2;

/** Behind whatever else the machine is doing: the compilers inherit it. */
const priority = 15;
const stillAtItMs = 30_000;

const print = (line: string): void => void process.stdout.write(`${line}\n`);

const ways: readonly Way[] = [...serverWays, ...toolWays];

/** Fetches or builds what `named` names, all servers when there are none. @returns the exit code. */
async function provision(named: readonly string[]): Promise<number> {
  const names = named.length === 0 ? serverWays.map(({ server }) => server as string) : named;
  const unknown = names.filter((name) => !ways.some(({ server }) => server === name));
  if (unknown.length > 0) {
    print(`unknown: ${unknown.join(', ')}; there are ${ways.map(({ server }) => server).join(', ')}`);
    return misused;
  }
  await sweep();
  const absent: string[] = [];
  for (const way of ways.filter(({ server }) => names.includes(server))) {
    if (!(await provisionOne(way))) absent.push(way.title);
  }
  if (absent.length > 0) print(`absent: ${absent.join(', ')}`);
  return absent.length > 0 ? someAbsent : allThere;
}

/** @returns whether it is there now. */
async function provisionOne(way: Way): Promise<boolean> {
  const reason = provisioned(way.server) === undefined ? await makeIfPossible(way) : undefined;
  if (reason !== undefined) print(`${way.title} cannot be had: ${reason}`);
  const isThere = provisioned(way.server) !== undefined;
  if (isThere) print(`${way.title} is there`);
  if (isThere && way.tuning?.isDone() === false) await tune(way.title, way.tuning);
  return isThere;
}

/** @returns why it was not made; `undefined` when it was. */
async function makeIfPossible(way: Way): Promise<string | undefined> {
  const missing = way.needs.filter((program) => onPath(program) === undefined);
  if (missing.length > 0) return `${missing.join(' and ')} not on the PATH`;
  try {
    const hindrance = way.hindrance?.();
    if (hindrance === undefined) await make(way);
    return hindrance;
  } catch (error) {
    // Another run may have made it in the meantime.
    return provisioned(way.server) === undefined ? String(error) : undefined;
  }
}

/** Under a name of its own until it is whole: a folder that bears the server's name can be relied on. */
async function make(way: Way): Promise<void> {
  await using opened = new AsyncDisposableStack();
  const took = opened.use(announceWait(way.title, way.effort));
  const folder = await makeFolder(way);
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  await way.make(folder);
  const bytes = await sizeOf(folder);
  if (way.server !== 'redis' && way.server !== 'postgres') await rename(folder, folderOf(way.server));
  print(`${way.title}: done after ${took.seconds()} s${bytes > 0 ? `, ${Math.round(bytes / 1e6)} MB` : ''}`);
}

/** What makes a server quicker may fail: the server is there all the same. */
async function tune(title: string, { effort, run }: NonNullable<Way['tuning']>): Promise<void> {
  using took = announceWait(title, effort);
  try {
    await run();
    print(`${title}: done after ${took.seconds()} s`);
  } catch (error) {
    print(`${title}: not done: ${String(error)}`);
  }
}

/** Says what is begun, and that it goes on. */
function announceWait(title: string, effort: string): Disposable & { readonly seconds: () => number } {
  const started = performance.now();
  const seconds = (): number => Math.round((performance.now() - started) / 1000);
  print(`${title}: ${effort} …`);
  const timer = setInterval(() => print(`${title}: still at it after ${seconds()} s`), stillAtItMs);
  return { seconds, [Symbol.dispose]: () => clearInterval(timer) };
}

const makingPrefix = 'making-';

async function makeFolder({ server }: Way): Promise<string> {
  await mkdir(serversFolder(), { recursive: true });
  return mkdtemp(join(serversFolder(), `${makingPrefix}${server}-${process.pid}-`));
}

/** Removes what runs that were broken off have left, of whatever server. */
async function sweep(): Promise<void> {
  const folder = serversFolder();
  if (!existsSync(folder)) return;
  for (const name of await readdir(folder)) {
    const maker = /^making-[a-z\d-]+-(\d+)-\w+$/.exec(name)?.[1];
    if (maker !== undefined && !isAlive(Number(maker))) await rm(join(folder, name), { recursive: true, force: true });
  }
}

async function sizeOf(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  const sizes = await Promise.all(files.map(async (file) => (await stat(file)).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}

setPriority(priority);
const { values: chosen, positionals } = readCommandLine({
  usage: `usage: npm run servers -- [SERVER…] [--kubernetes]
  Fetches or builds ${ways.map(({ server }) => server).join(', ')}; all servers where none is named, with --kubernetes the tools of charts`,
  options: { kubernetes: { type: 'boolean', default: false } },
  most: Infinity,
});
process.exitCode = await provision([
  ...positionals,
  ...(chosen.kubernetes ? toolWays.map(({ server }) => server) : []),
]);
