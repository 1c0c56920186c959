import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { bindFiles } from '@agent-workflow/execution/steps/bound-files';
import { createGatewayRunFiles } from '@agent-workflow/execution/adapters/gateway/run-files';
import { showGranted, showSealed, type ShowUse } from '@agent-workflow/execution/adapters/gateway/shown';
import { createApp } from '@agent-workflow/gateway/app';
import { gatewaySettings, type GatewayConfig } from '@agent-workflow/gateway/config';
import { createRunFiles, openFileStore, openOwnFiles } from '@agent-workflow/gateway/files';
import { openServer } from '@agent-workflow/gateway/server';
import { openInProcessStores } from '@agent-workflow/gateway/stores';
import { readEnv } from '@agent-workflow/kit/env';
import { isServiceError } from '@agent-workflow/kit/errors';
import { createLog } from '@agent-workflow/kit/log';
import { createSeal } from '@agent-workflow/kit/seal';
import { createGrants } from '@agent-workflow/protos/grants';
import { fromRunFileGrant, runFilesPurpose, type RunClaim, type RunFiles } from '@agent-workflow/protos/run-files';
import type { Threads } from '@agent-workflow/protos/threads';
import { link } from '@agent-workflow/protos/wire/link';
import { openSqliteThreadStore } from '@agent-workflow/threads/adapters/sqlite/store';
import { createThreads } from '@agent-workflow/threads/threads';
import { until } from '../until.ts';
import { runFilesContract, type OpenedRunFiles } from './run-files.ts';
import { acceptAndClaim, owner, refused } from './thread-calls.ts';

const secret = 'a secret of at least thirty-two characters';
const grantSecret = 'a secret of the grants, of thirty-two characters';
const env = { FILES_MAX_MB: '2', FILES_QUOTA_MB: '4', FILES_SECRET: secret, PORT: '0', HOST: '127.0.0.1' };
const usual = readEnv(gatewaySettings, env);
const log = createLog('test', 'error');

type Base = Omit<OpenedRunFiles, 'runFiles'> & {
  readonly files: Awaited<ReturnType<typeof openFileStore>>;
  readonly opened: AsyncDisposableStack;
};

async function openBase(config: GatewayConfig = usual): Promise<Base> {
  const opened = new AsyncDisposableStack();
  const store = opened.use(openSqliteThreadStore({ path: ':memory:' }));
  const threads: Threads = link(createThreads({ store }));
  const own = opened.use(await openOwnFiles(() => ':memory:'));
  const files = opened.use(await openFileStore({ config, log, own, grantSecrets: [grantSecret] }));
  return { threads, files, opened, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

runFilesContract(test, 'in process', async () => {
  const base = await openBase();
  return { ...base, runFiles: createRunFiles({ ...base, log, callTimeoutMs: 30_000 }) };
});

/** A gateway for files alone: the services that other endpoints need are not called. */
async function openGateway(config: GatewayConfig = usual): Promise<Base & { readonly url: string }> {
  const base = await openBase(config);
  const { threads, files, opened } = base;
  const unused = {} as never;
  const parts = { execution: unused, memory: unused, readiness: unused };
  const app = createApp({ threads, files, config, log, ...parts, ...opened.use(openInProcessStores()) });
  const { url } = opened.use(await openServer({ app, host: '127.0.0.1', config, log }));
  return { ...base, url };
}

runFilesContract(test, 'over HTTP', async () => {
  const base = await openGateway();
  return { ...base, runFiles: createGatewayRunFiles({ url: base.url, show: showSealed([secret]) }) };
});

const { signal } = new AbortController();
const grants = createGrants([grantSecret]);
const granted = { owner, threadId: 't1', runId: 'r1', epoch: 1, agent: 'support', pool: 'team' };
const tokenOf = (claim: RunClaim): Promise<string> => Promise.resolve(grants.issue({ ...granted, ...claim }).token);

runFilesContract(test, 'over HTTP, with the grants of runs', async () => {
  const base = await openGateway();
  return { ...base, runFiles: createGatewayRunFiles({ url: base.url, show: showGranted(tokenOf) }) };
});

test('a grant of a run opens the files of its owner for that run alone, and only while both last', async (t) => {
  await using gateway = await openGateway();
  const { epoch } = await acceptAndClaim(gateway.threads, 'r1');
  const claim = { owner, runId: 'r1', epoch };
  const shown = (show: ShowUse): RunFiles => createGatewayRunFiles({ url: gateway.url, show });
  const withToken = (token: string): RunFiles => shown(showGranted(() => Promise.resolve(token)));
  const { fileId } = await shown(showGranted(tokenOf)).write(claim, { filename: 'a', bytes: fewBytes() }, signal);
  const { token } = grants.issue({ ...granted, epoch });
  t.like(await withToken(token).info(claim, fileId, signal), { filename: 'a' });
  // What the request says of the run counts for nothing.
  t.like(await withToken(token).info({ owner: 'other', runId: 'r2', epoch: 9 }, fileId, signal), { filename: 'a' });
  const later = createGrants([grantSecret], () => Date.now() - 60_000);
  const refusedTokens = {
    'the grant of another owner': [grants.issue({ ...granted, epoch, owner: 'other' }).token, 'Stale'],
    'the grant of another run': [grants.issue({ ...granted, epoch, runId: 'r2' }).token, 'Stale'],
    'the grant of an earlier claim': [grants.issue({ ...granted, epoch: epoch - 1 }).token, 'Stale'],
    'a grant whose time is over': [later.issue({ ...granted, epoch }).token, 'Unavailable'],
    'a grant of another secret': [
      createGrants([`not ${grantSecret}`]).issue({ ...granted, epoch }).token,
      'Unavailable',
    ],
    'a grant that was changed': [`${token.slice(0, -2)}AA`, 'Unavailable'],
    'no grant': ['', 'Unavailable'],
  } as const;
  for (const [what, [shownToken, code]] of Object.entries(refusedTokens)) {
    t.log(what);
    await refused(t, withToken(shownToken).info(claim, fileId, signal), code);
    await refused(t, withToken(shownToken).write(claim, { filename: 'b', bytes: fewBytes() }, signal), code);
  }
});

test('a use that is none, or none at all, is refused, and a gateway without the secret takes no grants of runs', async (t) => {
  await using gateway = await openGateway();
  const { epoch } = await acceptAndClaim(gateway.threads, 'r1');
  const authorization = `Run ${grants.issue({ ...granted, epoch }).token}`;
  const statusOf = async (use: string | undefined, method = 'GET'): Promise<number> => {
    const headers = { authorization, ...(use !== undefined && { 'run-file-use': use }) };
    return (await fetch(`${gateway.url}/run-files`, { method, headers })).status;
  };
  const asText = (use: unknown): string => Buffer.from(JSON.stringify(use)).toString('base64url');
  t.is(await statusOf(asText({ use: 'info', fileId: 'f1' })), 404);
  t.is(await statusOf(asText({ use: 'info', fileId: 'f1' }), 'POST'), 405);
  const none = [
    undefined,
    '',
    '!',
    asText(null),
    asText([]),
    asText({ use: 'delete', fileId: 'f1' }),
    asText({ use: 'info', fileId: 1 }),
    asText({ use: 'read', fileId: 'f1', from: -1 }),
    asText({ use: 'read', fileId: 'f1', from: 0.5 }),
    asText({ use: 'write' }),
    asText({ use: 'write', filename: 'a', size: '1' }),
    asText({ use: 'write', filename: 'a', contentType: {} }),
    asText({ use: 'info', fileId: 'f'.repeat(9000) }),
  ];
  for (const use of none) t.is(await statusOf(use), 401, use?.slice(0, 80));
  await using files = await openFileStore({ config: usual, log });
  t.is(files.readGrant({ authorization, 'run-file-use': asText({ use: 'info', fileId: 'f1' }) }), undefined);
});

test('a grant of another secret, of another use or of a time that is over opens nothing', async (t) => {
  await using gateway = await openGateway();
  const { epoch } = await acceptAndClaim(gateway.threads, 'r1');
  const claim = { owner, runId: 'r1', epoch };
  const foreign = createGatewayRunFiles({ url: gateway.url, show: showSealed([`not ${secret}`]) });
  t.regex(
    await refused(t, foreign.info(claim, 'f1', signal), 'Unavailable'),
    /the grant is not valid, or its time is over/,
  );
  const statusOf = async (text: string, purpose = runFilesPurpose, method = 'GET'): Promise<number> => {
    const headers = { Authorization: `Bearer ${createSeal([secret], purpose).seal(text)}` };
    return (await fetch(`${gateway.url}/run-files`, { method, headers })).status;
  };
  const grant = { ...claim, use: 'info', fileId: 'f1', until: Date.now() + 60_000 } as const;
  t.is(await statusOf(fromRunFileGrant(grant)), 404);
  t.is(await statusOf(fromRunFileGrant({ ...grant, until: Date.now() - 1 })), 401);
  t.is(await statusOf(fromRunFileGrant(grant), 'address of a file'), 401);
  t.is(await statusOf(fromRunFileGrant(grant), runFilesPurpose, 'POST'), 405);
  for (const authorization of ['', 'Bearer x', 'Bearer ', `Bearer ${'a'.repeat(10_000)}`])
    t.is((await fetch(`${gateway.url}/run-files`, { headers: { authorization } })).status, 401, authorization);
});

test('a stream that a gateway has no room for is sent again when there is room', async (t) => {
  await using gateway = await openGateway(readEnv(gatewaySettings, { ...env, IN_FLIGHT_MB: '1' }));
  const { epoch } = await acceptAndClaim(gateway.threads, 'r1');
  const claim = { owner, runId: 'r1', epoch };
  const files = createGatewayRunFiles({ url: gateway.url, show: showSealed([secret]) });
  const isRefused = Promise.withResolvers<undefined>();
  const isReading = Promise.withResolvers<undefined>();
  async function* held(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('first');
    isReading.resolve(undefined);
    await isRefused.promise;
  }
  const first = files.write(claim, { filename: 'a', bytes: held() }, signal);
  await isReading.promise;
  // It holds its room from the moment in which the gateway has its head.
  const isFull = (): Promise<boolean> =>
    files.write(claim, { filename: 'b', bytes: fewBytes() }, signal).then(
      () => false,
      (error: unknown) => isServiceError(error, 'Unavailable'),
    );
  await until(isFull);
  const bound = bindFiles(files, { claim, signal, onAway: () => isRefused.resolve(undefined) });
  t.like(await bound.write({ filename: 'c', data: chunked() }), { filename: 'c', size: 100_000 });
  t.like(await first, { filename: 'a', size: 5 });
});

async function* chunked(): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < 10; at++) yield Buffer.alloc(10_000, at);
}

test('while the gateway cannot be reached each call is Unavailable', async (t) => {
  const away = createGatewayRunFiles({ url: 'http://127.0.0.1:1', show: showSealed([secret]) });
  const claim = { owner, runId: 'r1', epoch: 1 };
  await refused(t, away.info(claim, 'f1', signal), 'Unavailable');
  await refused(t, Array.fromAsync(away.read(claim, 'f1', signal)), 'Unavailable');
  async function* bytes(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('a');
  }
  await refused(t, away.write(claim, { filename: 'a', bytes: bytes() }, signal), 'Unavailable');
});

/** The address of a server that does as `listener` does. */
async function openSilent(t: ExecutionContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
}

async function* fewBytes(): AsyncGenerator<Uint8Array> {
  yield Buffer.from('a');
}

async function* endlessBytes(): AsyncGenerator<Uint8Array> {
  for (;;) yield Buffer.alloc(1024 * 1024);
}

const someClaim = { owner, runId: 'r1', epoch: 1 };

test('a gateway that says nothing is Unavailable: for the head of a read, and for the reply to what was written', async (t) => {
  const url = await openSilent(t, (req) => void req.resume());
  const silent = createGatewayRunFiles({ url, show: showSealed([secret]), timeoutMs: 200, stalledMs: 300 });
  await refused(t, silent.info(someClaim, 'f1', signal), 'Unavailable');
  t.regex(await refused(t, Array.fromAsync(silent.read(someClaim, 'f1', signal)), 'Unavailable'), /silent for 0.2 s/);
  const written = silent.write(someClaim, { filename: 'a', bytes: fewBytes() }, signal);
  t.regex(await refused(t, written, 'Unavailable'), /silent for 0.3 s/);
});

test('a gateway that takes no more of a file is Unavailable', async (t) => {
  const url = await openSilent(t, () => undefined);
  const silent = createGatewayRunFiles({ url, show: showSealed([secret]), stalledMs: 300 });
  const written = silent.write(someClaim, { filename: 'a', bytes: endlessBytes() }, signal);
  t.regex(await refused(t, written, 'Unavailable'), /silent for 0.3 s/);
});

test('a gateway that sends no more of a file is Unavailable', async (t) => {
  const url = await openSilent(t, (_req, res) => void res.write('some'));
  const silent = createGatewayRunFiles({ url, show: showSealed([secret]), stalledMs: 300 });
  t.regex(await refused(t, Array.fromAsync(silent.read(someClaim, 'f1', signal)), 'Unavailable'), /silent for 0.3 s/);
});

test('a node that reads or gives bytes slowly is not taken for a silent gateway', async (t) => {
  const url = await openSilent(t, (req, res) => {
    if (req.method === 'GET') res.end(Buffer.alloc(200_000));
    else req.resume().once('end', () => res.end('{"fileId":"f1"}'));
  });
  const patient = createGatewayRunFiles({ url, show: showSealed([secret]), timeoutMs: 300, stalledMs: 300 });
  const pause = (): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, 700));
  async function* slowBytes(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('a');
    await pause();
    yield Buffer.from('b');
  }
  t.like(await patient.write(someClaim, { filename: 'a', bytes: slowBytes() }, signal), { fileId: 'f1' });
  let size = 0;
  for await (const chunk of patient.read(someClaim, 'f1', signal)) {
    if (size === 0) await pause();
    size += chunk.byteLength;
  }
  t.is(size, 200_000);
});
