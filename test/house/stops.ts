/**
 * `npx node test/house/stops.ts [tree]`: the calls from a function of one file into a function of another that one invoke makes from
 * its request to the commit of its step, and that one emitted text makes on its way to the socket. The process of the tree runs
 * for real, on SQLite, with each function instrumented. Each pair of functions counts once.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Call, Recording } from './stops/recording.ts';
import { root } from './tree.ts';
import { byLoad } from '../by-load.ts';

const tree = resolve(process.argv[2] ?? root);
const folder = mkdtempSync(join(tmpdir(), 'stops-'));
try {
  await record();
  print('from a request to its commit', read('invoke'));
  print('from emit to the socket', read('emit'));
} finally {
  rmSync(folder, { recursive: true });
}

async function record(): Promise<void> {
  const agent = relative(folder, fileURLToPath(new URL('./stops/agent.ts', import.meta.url)));
  writeFileSync(join(folder, 'service.json'), JSON.stringify({ agent: `./${agent}:graph`, auth: null }));
  const preload = fileURLToPath(new URL('./stops/preload.ts', import.meta.url));
  const service = spawn(process.execPath, [`--import=${preload}`, 'services/standalone/main.ts'], {
    cwd: tree,
    env: {
      ...process.env,
      ...{ PORT: '0', HOST: '127.0.0.1', METRICS_PORT: '0', DATA_DIR: join(folder, 'data') },
      ...{ SERVICE_CONFIG: join(folder, 'service.json'), NODE_DISABLE_COMPILE_CACHE: '1' },
      ...{ STOPS_TREE: tree, STOPS_OUT: folder },
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    let url: string | undefined;
    for await (const chunk of service.stdout as AsyncIterable<Buffer>) {
      url = /listens on (http:\/\/[\w.:]+)/.exec(chunk.toString())?.[1];
      if (url !== undefined) break;
    }
    if (url === undefined) throw new Error('the service did not start');
    await post(`${url}/v1/graph/invoke`, 'warm');
    await post(`${url}/v1/graph/invoke`, 'warm');
    await post(`${url}/v1/graph/invoke`, 'measured', { 'x-stops': '1' });
    await post(`${url}/v1/graph/stream`, 'emit');
  } finally {
    service.kill();
  }
}

async function post(url: string, content: string, headers: Readonly<Record<string, string>> = {}): Promise<void> {
  const body = JSON.stringify({ messages: [{ role: 'user', content }] });
  const signal = AbortSignal.timeout(byLoad(60_000));
  const reply = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
    signal,
  });
  const text = await reply.text();
  if (!reply.ok) throw new Error(`${url} answered ${reply.status}: ${text}`);
}

function read(name: string): Recording {
  return JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8')) as Recording;
}

function print(title: string, recording: Recording): void {
  const all = stopsOf(recording, recording.calls);
  const path = recording.ends.length === 0 ? all : stopsOf(recording, leadingTo(recording));
  process.stdout.write(`\n${title}: ${path.length} stops, of ${all.length} calls between files in that time\n`);
  for (const stop of path) process.stdout.write(`  ${stop}\n`);
}

/** The pairs of functions that stand in different files, each once, in the order of the calls. */
function stopsOf(recording: Recording, calls: readonly Call[]): string[] {
  const between = calls.filter(({ from, to }) => fileOf(recording, from) !== fileOf(recording, to));
  return [...new Set(between.map(({ from, to }) => `${nameOf(recording, from)} → ${nameOf(recording, to)}`))];
}

/** The calls that what is recorded ends with, those that make them, and those that make the functions that are called. */
function leadingTo({ calls, ends }: Recording): readonly Call[] {
  const leading = new Set<number>();
  const open = [...ends];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    const { by, madeBy } = calls[at] ?? {};
    if (leading.has(at)) continue;
    leading.add(at);
    open.push(...[by, madeBy].filter((before) => before !== undefined));
  }
  return calls.filter((_, at) => leading.has(at));
}

function fileOf({ functions }: Recording, id: number): string {
  return functions[id]?.file ?? '';
}

function nameOf({ functions }: Recording, id: number): string {
  const { file, line, name } = functions[id] ?? { file: '?', line: 0, name: '?' };
  return `${file}:${line} ${name}`;
}
