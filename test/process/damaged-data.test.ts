import {
  closeSync,
  cpSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test from 'ava';
import { createClient, user, type Client } from '../servers/client.ts';
import { makeWorkspace, startStandalone, type StandaloneProcess, type Workspace } from '../servers/standalone.ts';
import { until } from '../until.ts';

const threads = 12;
const lists = {
  'threads.sqlite': ['/v1/threads', '/v1/runs', '/v1/threads/t1', '/v1/threads/t1/messages', '/v1/threads/t1/runs'],
  'memory.sqlite': ['/v1/store/memories'],
  'execution.sqlite': [],
} as const;
type File = keyof typeof lists;
const partOf = { 'threads.sqlite': 'record', 'memory.sqlite': 'memory', 'execution.sqlite': 'events' } as const;

/** Data of a process that has ended: the logs are worked into the files. */
let written: Workspace;

test.before(async () => {
  written = await makeWorkspace('echo');
  await using service = await startStandalone(written.env);
  const { send } = createClient(service.url);
  for (let at = 0; at < threads; at++) {
    const turn = { messages: [user(`hello ${String(at)}`)], config: { thread_id: `t${String(at)}` } };
    await send('POST', '/v1/graph/invoke', turn);
    const content = `The harbour opens at ${String(at)}`;
    await send('POST', '/v1/store/memories', { content, memory_type: 'semantic', category: 'facts' });
  }
  await service.stop('SIGTERM');
});

test.after.always(() => written[Symbol.asyncDispose]());

const overwrite =
  (bytes: number) =>
  (path: string): void => {
    const { size } = statSync(path);
    const from = 8 * 1024;
    const file = openSync(path, 'r+');
    writeSync(file, Buffer.alloc(size - from, bytes), 0, size - from, from);
    closeSync(file);
  };
const halve = (path: string): void => truncateSync(path, Math.floor(statSync(path).size / 2048) * 1024);
/** Some time after it was made. */
function empty(path: string): void {
  truncateSync(path);
  const later = new Date(statSync(path).birthtimeMs + 1000);
  utimesSync(path, later, later);
}
const sql =
  (text: string) =>
  (path: string): void => {
    using db = new DatabaseSync(path);
    db.exec(text);
  };

/** Overwrites the owners of rows and leaves the pages in order: SQLite reads them, and finds no row of the owner. */
function changeOwners(path: string): void {
  using db = new DatabaseSync(path);
  const pageBytes = Number(db.prepare('PRAGMA page_size').get()?.['page_size']);
  const pages = db.prepare("SELECT pageno FROM dbstat WHERE name = 'threads'").all();
  const bytes = readFileSync(path);
  for (const { pageno } of pages) {
    const page = bytes.subarray((Number(pageno) - 1) * pageBytes, Number(pageno) * pageBytes);
    for (let at = page.indexOf('anon'); at >= 0; at = page.indexOf('anon')) page.write('nobo', at);
  }
  writeFileSync(path, bytes);
}

interface Damage {
  readonly title: string;
  readonly file: File;
  readonly harm: (path: string) => void;
  /** What SQLite says of it, as the log has it. */
  readonly words: RegExp;
  /** Whether it is found without a request that meets it. */
  readonly isFoundAlone?: boolean;
}

/** In the words of a statement, or of the check in the background, whichever meets it first. */
const malformed = /database disk image is malformed|returns error code 11/;
const damages: readonly Damage[] = [
  { title: 'zeros in its middle', file: 'threads.sqlite', harm: overwrite(0), words: malformed },
  { title: 'other bytes in its middle', file: 'threads.sqlite', harm: overwrite(0xff), words: malformed },
  { title: 'only half of it', file: 'threads.sqlite', harm: halve, words: malformed },
  { title: 'nothing in it', file: 'threads.sqlite', harm: (path) => truncateSync(path), words: malformed },
  {
    title: 'no table of runs',
    file: 'threads.sqlite',
    harm: sql('DROP TABLE runs'),
    words: /no such table: runs/,
  },
  { title: 'no table of threads', file: 'threads.sqlite', harm: sql('DROP TABLE threads'), words: /no such table/ },
  {
    title: 'other owners in its rows',
    file: 'threads.sqlite',
    harm: changeOwners,
    words: /missing from index/,
    isFoundAlone: true,
  },
  { title: 'zeros in its middle', file: 'memory.sqlite', harm: overwrite(0), words: malformed },
  { title: 'no table of memories', file: 'memory.sqlite', harm: sql('DROP TABLE memories'), words: /no such table/ },
  { title: 'zeros in its middle', file: 'execution.sqlite', harm: overwrite(0), words: malformed, isFoundAlone: true },
];

interface Answer {
  readonly status: number;
  /** What the body says of the part. */
  readonly body: string | undefined;
  readonly metric: string | undefined;
}

/** What `/readyz` and the metrics say of a part, at one moment. */
async function answersOf(part: string, { send }: Client, metricsAt: string): Promise<Answer> {
  const { status, body } = await send('GET', '/readyz');
  const { data, error } = body as unknown as Partial<Ready>;
  const metrics = await (await fetch(`${metricsAt}/metrics`)).text();
  const found = data?.degraded.find(({ name }) => name === part);
  return {
    status,
    body: error ? error.message : found && `${found.name}: ${found.reason}`,
    metric: new RegExp(`^agent_workflow_degraded\\{part="${part}"\\} (\\d)$`, 'm').exec(metrics)?.[1],
  };
}

interface Ready {
  readonly data: { readonly degraded: readonly { readonly name: string; readonly reason: string }[] };
  readonly error: { readonly code: string; readonly message: string };
}

/** The line of the log that says that the part fails. */
async function lineOf({ lines }: Pick<StandaloneProcess, 'lines'>, part: string): Promise<string> {
  const find = (): string | undefined =>
    lines.find((text) => text.includes('a part fails') && text.includes(`"part":"${part}"`));
  await until(() => find() !== undefined);
  return find() ?? '';
}

for (const { title, file, harm, words, isFoundAlone = false } of damages)
  test.serial(`${file} with ${title}: lists, readiness, metric and log say the same of it`, async (t) => {
    await using workspace = await makeWorkspace('echo');
    const path = join(workspace.folder, 'data', file);
    cpSync(join(written.folder, 'data'), join(workspace.folder, 'data'), { recursive: true });
    await using service = await startStandalone({ ...workspace.env, METRICS_PORT: '0', LOG_FORMAT: 'json' });
    const client = createClient(service.url);
    const metricsAt = /metrics are at (\S+)\/metrics/.exec(service.lines.join('\n'))?.[1] ?? '';
    const part = partOf[file];
    harm(path);

    const answers = (): Promise<Answer> => answersOf(part, client, metricsAt);
    if (isFoundAlone) await until(async () => (await answers()).metric === '1');
    for (const list of lists[file]) {
      const { status, body } = await client.send('GET', list);
      if (status !== 200)
        t.deepEqual([status, (body as unknown as Ready).error.code], [503, 'SERVICE_UNAVAILABLE'], list);
    }
    // Each has met the damage by now, or stands on what another list has found.
    for (const list of lists[file]) t.is((await client.send('GET', list)).status, 503, list);

    const reason = 'it cannot be read: the file is damaged';
    const isRecord = part === 'record';
    t.deepEqual(await answers(), { status: isRecord ? 503 : 200, body: `${part}: ${reason}`, metric: '1' });
    const line = await lineOf(service, part);
    const logged = JSON.parse(line) as { readonly reason: string; readonly err: { readonly message: string } };
    t.is(logged.reason, reason);
    t.true(logged.err.message.startsWith(`${path}: `), logged.err.message);
    t.regex(logged.err.message, words);
  });

test.serial(
  'a record that can be read and not written is ready, and body, metric and log say what is away',
  async (t) => {
    await using workspace = await makeWorkspace('echo');
    await using service = await startStandalone({ ...workspace.env, METRICS_PORT: '0', LOG_FORMAT: 'json' });
    const client = createClient(service.url);
    const metricsAt = /metrics are at (\S+)\/metrics/.exec(service.lines.join('\n'))?.[1] ?? '';
    const path = join(workspace.folder, 'data', 'threads.sqlite');
    rmSync(path);
    const reason = 'it cannot be written: the file or its folder was removed';
    await until(async () => (await answersOf('record', client, metricsAt)).metric === '1');
    t.deepEqual(await answersOf('record', client, metricsAt), { status: 200, body: `record: ${reason}`, metric: '1' });
    const line = await lineOf(service, 'record');
    t.true(line.includes(reason) && line.includes(`${path}: ${path} was removed or replaced`), line);
  },
);

for (const [title, harm, words] of [
  ['was emptied', empty, 'it is empty'],
  ['holds half of what it held', halve, 'the file is damaged'],
  [
    'is gone, while its log is there',
    (path: string) => {
      cpSync(path, `${path}-wal`);
      rmSync(path);
    },
    'it is not there, while its log is',
  ],
] as const)
  for (const file of ['threads.sqlite', 'memory.sqlite', 'execution.sqlite'] as const)
    test.serial(`a start on a ${file} that ${title} ends with a line that names it`, async (t) => {
      await using workspace = await makeWorkspace('echo');
      cpSync(join(written.folder, 'data'), join(workspace.folder, 'data'), { recursive: true });
      const path = join(workspace.folder, 'data', file);
      harm(path);
      const ended = await t.throwsAsync(async () => {
        await using _started = await startStandalone(workspace.env);
      });
      t.true(ended.message.startsWith(`exit code 1: ${path} cannot be opened: ${words}`), ended.message);
      t.false(ended.message.includes('\n'));
    });
