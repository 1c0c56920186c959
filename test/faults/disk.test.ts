import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test, { type ExecutionContext } from 'ava';
import { openOwnFiles } from '@agent-workflow/gateway/files';
import { createClient, user, type Client } from '../servers/client.ts';
import { openGate } from '../servers/gate.ts';
import { makeWorkspace, startStandalone, type StandaloneProcess } from '../servers/standalone.ts';
import { until } from '../until.ts';
import {
  addMessage,
  followRun,
  isWhole,
  nothingIsLost,
  openLogs,
  openOwned,
  startGatedRuns,
  type OwnedService,
  type Owner,
} from './owners.ts';
import { boundByModes, boundFiles, openFailingDisk, openSmallDisk, withoutGrowth } from './small-disk.ts';
import { withFaults } from './suite.ts';

/** How the disk of a process is filled. */
interface Fullness {
  readonly folder: string | undefined;
  readonly fill: (service: StandaloneProcess) => void;
  /** Takes what room a checkpoint may have made since. */
  readonly keepFull: (service: StandaloneProcess) => void;
  readonly free: (service: StandaloneProcess) => void;
}

withFaults(test, () => {
  test.serial(
    'on a full disk the process lives, reads go on, writes are 503, no run is lost or failed, and all goes on with room',
    async (t) => {
      const disk = await openSmallDisk(24);
      if (typeof disk === 'string') {
        t.log(`${disk}: the bound on files below stands in`);
        await outlasts(t, boundedFiles);
        return;
      }
      t.teardown(async () => disk[Symbol.asyncDispose]());
      await outlasts(t, { folder: join(disk.folder, 'data'), fill: disk.fill, keepFull: disk.fill, free: disk.free });
    },
  );

  test.serial('where files may grow no further it is the same', async (t) => {
    await outlasts(t, boundedFiles);
  });

  test.serial(
    'where the log of events fills before the record, runs are refused at once until there is room, and what was accepted completes',
    async (t) => {
      const disk = await openSmallDisk(24);
      if (typeof disk === 'string') {
        t.log(disk);
        t.pass();
        return;
      }
      t.teardown(async () => disk[Symbol.asyncDispose]());
      await using workspace = await makeWorkspace('echo');
      await using service = await startStandalone({ ...workspace.env, DATA_DIR: join(disk.folder, 'data') });
      const client = createClient(service.url);
      const start = async (): ReturnType<Client['send']> =>
        client.send('POST', '/v1/runs', { messages: [user('hello')] });
      disk.fill();

      const accepted = await start();
      t.is(accepted.status, 202, 'the record has room of its own');
      const { run_id: runId } = accepted.body.data as { readonly run_id: string };
      await until(async () => (await start()).status === 503);
      const refused = await start();
      t.is(refused.status, 503);
      t.truthy(refused.headers.get('retry-after'));
      t.regex(JSON.stringify(refused.body), /the events of runs cannot be written right now/);

      disk.free();
      await until(async () => (await start()).status === 202, { timeoutMs: 20_000 });
      const ended = await client.send('GET', `/v1/runs/${runId}/wait`);
      t.is(ended.status, 200);
      t.regex(JSON.stringify(ended.body), /"status":"completed"/);
      t.is(await service.stop('SIGTERM'), 0);
    },
  );

  test.serial(
    'a disk that becomes read-only under the process ends nothing: reads go on, writes are 503, and a start on the repaired disk completes every run',
    async (t) => {
      const disk = await openFailingDisk(48);
      if (typeof disk !== 'string') t.teardown(async () => disk[Symbol.asyncDispose]());
      else t.log(`${disk}: a process that may write to no file stands in`);
      const folder = typeof disk === 'string' ? undefined : join(disk.folder, 'data');
      await using gate = await openGate();
      await using openedGate = await openGate();
      openedGate.open();
      await using service = await openOwned({ folder, env: { DRAIN_SECONDS: '1' } });
      await openLogs(t, service, openedGate);
      await startGatedRuns(t, service, gate, 2);

      if (typeof disk === 'string') boundFiles(service.process().child.pid ?? 0, 0);
      else disk.makeReadOnly();
      await refusesWrites(t, service);
      gate.open();
      await until(() => waitingCommits(service) === 6);
      await readsGoOn(t, service);
      await isDegraded(
        t,
        service,
        typeof disk === 'string'
          ? /^it cannot be written: the file is too large/
          : /^it cannot be written: the file system is read-only/,
      );

      await service.process().stop('SIGTERM');
      if (typeof disk !== 'string') disk.repair();
      await service.restart();
      await nothingIsLost(t, service);
      await until(async () => (await service.ready()).degraded.length === 0);
    },
  );

  test.serial('a data folder on a full disk stops the start with one line', async (t) => {
    const disk = await openSmallDisk(1);
    if (typeof disk === 'string') {
      t.log(`${disk}: a process whose files may not grow stands in`);
      t.regex(await refusal(undefined, withoutGrowth), /^exit code 1: \S+ cannot be opened: the file is too large/);
      return;
    }
    t.teardown(async () => disk[Symbol.asyncDispose]());
    disk.fill();
    t.regex(await refusal(disk.folder), /^exit code 1: \S+ cannot be opened: the disk is full$/);
  });

  test.serial(
    'a full disk stops the start with one line where the secret of files is made, and leaves no file',
    async (t) => {
      const disk = await openSmallDisk(1);
      if (typeof disk === 'string') {
        t.log(disk);
        t.pass();
        return;
      }
      t.teardown(async () => disk[Symbol.asyncDispose]());
      disk.fill();
      const open = async (): ReturnType<typeof openOwnFiles> => openOwnFiles((name) => join(disk.folder, name));
      const { message } = await t.throwsAsync(open(), { name: 'ConfigError' });
      t.is(message, `DATA_DIR cannot keep ${join(disk.folder, 'files.secret')}: the disk is full`);
      t.deepEqual(readdirSync(disk.folder), ['filler']);
      disk.free();
      await using own = await open();
      t.is(own.secrets[0].length, 43);
    },
  );

  test.serial('a data folder that is read-only stops the start with one line', async (t) => {
    const disk = await openSmallDisk(24);
    await using workspace = await makeWorkspace('echo');
    const folder = typeof disk === 'string' ? String(workspace.env['DATA_DIR']) : disk.folder;
    {
      await using service = await startStandalone({ ...workspace.env, DATA_DIR: folder });
      t.is(await service.stop('SIGTERM'), 0);
    }
    if (typeof disk === 'string') {
      t.log(`${disk}: the mode of the folder stands in`);
      execFileSync('chmod', ['-R', 'a-w', folder]);
      const words = await refusal(folder, boundByModes);
      chmodSync(folder, 0o755);
      t.regex(words, /^exit code 1: \S+ cannot be opened: access is denied$/);
      return;
    }
    t.teardown(async () => disk[Symbol.asyncDispose]());
    disk.makeReadOnly();
    t.regex(await refusal(folder), /^exit code 1: \S+ cannot be opened: the file system is read-only$/);
  });

  test.serial('a data folder that is a file stops the start with one line', async (t) => {
    await using workspace = await makeWorkspace('echo');
    const file = join(workspace.folder, 'file');
    writeFileSync(file, '');
    t.regex(await refusal(file), /^exit code 1: \S+ cannot be opened: the path leads through a file$/);
  });

  for (const name of ['threads', 'execution', 'memory', 'lock']) {
    test.serial(`a damaged ${name}.sqlite stops the start with one line`, async (t) => {
      await using workspace = await makeWorkspace('echo');
      const folder = join(workspace.folder, 'damaged');
      mkdirSync(folder);
      writeFileSync(join(folder, `${name}.sqlite`), 'this is no database, whatever its name says. '.repeat(1000));
      t.regex(await refusal(folder), /^exit code 1: .* cannot be opened: the file is damaged$/);
    });
  }
});

/** What a start on this folder says when it ends. */
async function refusal(folder: string | undefined, through: readonly string[] = []): Promise<string> {
  await using workspace = await makeWorkspace('echo');
  try {
    const env = { ...workspace.env, ...(folder !== undefined && { DATA_DIR: folder }) };
    await using _service = await startStandalone(env, undefined, through);
  } catch (error) {
    return (error as Error).message;
  }
  return 'it started';
}

/** The log of a file has 4 MiB reserved, within which it starts over. */
const boundBytes = 4 * 1024 * 1024;

const boundedFiles: Fullness = {
  folder: undefined,
  fill: ({ child }) => boundFiles(child.pid ?? 0, boundBytes),
  keepFull: ({ child }) => boundFiles(child.pid ?? 0, 0),
  free: ({ child }) => boundFiles(child.pid ?? 0, 'unlimited'),
};

/** Runs of three owners, with followers, before a disk is full, while it is, and after there is room again. */
async function outlasts(t: ExecutionContext, { folder, fill, keepFull, free }: Fullness): Promise<void> {
  await using gate = await openGate();
  await using openedGate = await openGate();
  openedGate.open();
  await using service = await openOwned({ folder });
  const { owners } = service;
  await openLogs(t, service, openedGate);
  await startGatedRuns(t, service, gate, 3);
  const followed = Promise.all(owners.map(async (owner) => followRun(owner, owner.runs[0] ?? '')));

  fill(service.process());
  await refusesWrites(t, service, () => keepFull(service.process()));
  gate.open();
  await until(() => waitingCommits(service) === 9);
  await readsGoOn(t, service);
  await isDegraded(
    t,
    service,
    folder === undefined ? /: the (file is too large for the disk|disk reports errors)/ : /: the disk is full/,
  );
  const file = join(folder ?? '', 'threads.sqlite');
  if (folder !== undefined) t.true(pagesInLog(file) >= pagesPerCheckpoint, 'its log could not be copied');

  const start = performance.now();
  free(service.process());
  await nothingIsLost(t, service);
  const tookMs = Math.round(performance.now() - start);
  const streams = await followed;
  t.true(streams.every(isWhole));
  await until(async () => (await service.ready()).degraded.length === 0);
  t.is(await service.metric('agent_workflow_degraded', '{part="record"}'), 0);
  for (const owner of owners) t.is((await addMessage(owner, 200_000)).status, 200);
  if (folder !== undefined) await until(() => pagesInLog(file) < pagesPerCheckpoint);
  const messages = owners.reduce((sum, { stored }) => sum + stored.length, 0);
  const connections = streams.reduce((sum, stream) => sum + stream.connections, 0);
  t.is(connections, streams.length, 'no follower is cut');
  t.log(
    `9 runs of 3 owners waited and had ended ${String(tookMs)} ms after there was room; ${String(messages)} messages kept; 3 followers over ${String(connections)} connections`,
  );
  t.is(await service.process().stop('SIGTERM'), 0);
}

/**
 * Each owner adds messages, large ones and then small ones, until not even a small one is taken. `keepFull` takes the room that a checkpoint
 * may have made since. From then on writes are refused, and nobody starts a run.
 */
async function refusesWrites(t: ExecutionContext, { owners }: OwnedService, keepFull = ignore): Promise<void> {
  for (const owner of owners) await addUntilRefused(owner);
  keepFull();
  for (const owner of owners) {
    const start = { messages: [{ role: 'user', content: 'go' }] };
    for (const refused of [await addMessage(owner, 500), await owner.client().send('POST', '/v1/runs', start)]) {
      t.is(refused.status, 503);
      t.truthy(refused.headers.get('retry-after'));
      t.is((refused.body.error as { code: string }).code, 'SERVICE_UNAVAILABLE');
    }
  }
}

const ignore = (): void => undefined;

/** A log that could still be copied into its file has room for large messages again. */
async function addUntilRefused(owner: Owner): Promise<void> {
  const sizes = [400_000, 20_000, 500];
  for (let index = 0; index < sizes.length;) {
    const { status } = await addMessage(owner, sizes[index] ?? 0);
    index = status === 200 ? 0 : index + 1;
  }
}

async function readsGoOn(t: ExecutionContext, { owners }: OwnedService): Promise<void> {
  for (const { client, runs, log } of owners) {
    for (const path of ['/healthz', '/v1/threads', `/v1/threads/${log}/state`, `/v1/runs/${runs[0] ?? ''}`])
      t.is((await client().send('GET', path)).status, 200, path);
  }
}

async function isDegraded(t: ExecutionContext, service: OwnedService, reason: RegExp): Promise<void> {
  const { status, degraded } = await service.ready();
  t.is(status, 200);
  t.regex(degraded.find(({ name }) => name === 'record')?.reason ?? '', reason);
  t.is(await service.metric('agent_workflow_degraded', '{part="record"}'), 1);
}

/** Runs whose step has run and waits for the record. */
const waitingCommits = (service: OwnedService): number =>
  service.process().lines.filter((line) => line.includes('the record is unavailable for a commit')).length;

const pagesPerCheckpoint = 800;

/** How many pages of a file's log are not copied into the file. */
function pagesInLog(file: string): number {
  using db = new DatabaseSync(file);
  const log = db.prepare('PRAGMA wal_checkpoint(NOOP)').get();
  return Number(log?.['log']) - Number(log?.['checkpointed']);
}
