import { readFile } from 'node:fs/promises';
import { connect, type ClientHttp2Session, type IncomingHttpHeaders } from 'node:http2';
import { setTimeout as delay } from 'node:timers/promises';
import { openExecutionProcess } from '@agent-workflow/execution/process';
import type { Env } from '@agent-workflow/kit/env';
import type { RunningProcess } from '@agent-workflow/runtime/process';
import { openMemoryProcess } from '@agent-workflow/memory/process';
import type { WireSecurity } from '@agent-workflow/protos/wire/security';
import { definitionOf, type Context } from '@agent-workflow/protos/wire/definitions';
import { openThreadsProcess } from '@agent-workflow/threads/process';
import test, { type ExecutionContext } from 'ava';
import { openAuthority, type Authority } from '../servers/certificates.ts';
import { freePorts } from '../servers/real-process.ts';
import { makeWorkspace } from '../servers/standalone.ts';

const token = 'known to the cluster';

/** Nothing listens there: a process that waits for its store lives, and whom it lets in does not hang on the store. */
const nowhere = '127.0.0.1:1';

const processes: Readonly<Record<Context, (env: Env, stopping: AbortSignal) => Promise<RunningProcess>>> = {
  threads: openThreadsProcess,
  execution: openExecutionProcess,
  memory: openMemoryProcess,
};

interface Ports {
  readonly grpc: number;
  readonly health: number;
}

/** The process of a context as its `main.ts` opens it, with certificates and a token, on stores that are not there. */
async function start(t: ExecutionContext, context: Context, tls: NonNullable<WireSecurity['tls']>): Promise<Ports> {
  const [grpc = 0, health = 0] = await freePorts(2);
  const workspace = await makeWorkspace(null);
  const stopping = new AbortController();
  const env = {
    ...workspace.env,
    ...{ LOG_LEVEL: 'silent', GRPC_HOST: '127.0.0.1', GRPC_PORT: String(grpc), HEALTH_PORT: String(health) },
    ...{ SERVICE_TOKEN: token, TLS_CERT_FILE: tls.certificate, TLS_KEY_FILE: tls.key, TLS_CA_FILE: tls.authorities },
    ...{ CASSANDRA_CONTACT_POINTS: nowhere, NATS_URL: `nats://${nowhere}`, DATA_DIR: ':memory:' },
    ...{ THREADS_ADDRESS: nowhere, MEMORY_ADDRESS: nowhere, DRAIN_SECONDS: '0' },
  };
  const opening = processes[context](env, stopping.signal);
  let failure: unknown;
  opening.catch((error: unknown) => (failure = error));
  t.teardown(async () => {
    stopping.abort(new Error('the test is over'));
    await (await opening.catch(() => undefined))?.[Symbol.asyncDispose]();
    await workspace[Symbol.asyncDispose]();
  });
  while ((await callStatus(health, { path: healthPath })) === noAnswer) {
    if (failure !== undefined) throw failure as Error;
    await delay(20);
  }
  return { grpc, health };
}

const healthPath = '/grpc.health.v1.Health/Check';

/** Who asks, and for what. */
interface Asked {
  readonly path: string;
  /** Absent: whoever asks does not speak TLS. */
  readonly tls?: { readonly ca: Buffer; readonly cert?: Buffer; readonly key?: Buffer };
  readonly authorization?: string;
}

/** Statuses of gRPC, and what it is when a connection ends without one. */
const noAnswer = 'no answer';
const [ok, notImplemented, away, unauthenticated] = ['0', '12', '14', '16'];

/** The status of gRPC that an empty message gets, written by hand: so nothing on the caller's side refuses for the service. */
async function callStatus(port: number, { path, tls, authorization }: Asked): Promise<string> {
  const session = connect(`${tls ? 'https' : 'http'}://localhost:${String(port)}`, { ...tls });
  try {
    return await statusOf(session, { path, ...(authorization !== undefined && { authorization }) });
  } finally {
    session.destroy();
  }
}

function statusOf(session: ClientHttp2Session, { path, authorization }: Omit<Asked, 'tls'>): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const refuse = (): void => {
    resolve(noAnswer);
  };
  const read = (headers: IncomingHttpHeaders): void => {
    if (headers['grpc-status'] !== undefined) resolve(String(headers['grpc-status']));
  };
  session.on('error', refuse).on('close', refuse);
  const stream = session.request({
    ...{ ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers', 'grpc-timeout': '60S' },
    ...(authorization !== undefined && { authorization }),
  });
  stream.on('error', refuse).on('close', refuse).on('response', read).on('trailers', read).resume();
  stream.end(Buffer.alloc(5));
  return promise;
}

type Shown = NonNullable<Asked['tls']>;

async function shownBy(authority: Authority, name: string, days?: number): Promise<Shown> {
  const { certificate, key, authorities } = await authority.sign(name, days);
  return { cert: await readFile(certificate), key: await readFile(key), ca: await readFile(authorities) };
}

async function authority(t: ExecutionContext): Promise<Authority> {
  const opened = await openAuthority();
  t.teardown(() => opened[Symbol.asyncDispose]());
  return opened;
}

for (const context of Object.keys(processes) as Context[]) {
  const paths = Object.values(definitionOf(context)).map(({ path }) => path);

  test(`the ${context} process answers whoever shows certificate and token, and nobody else, whatever is called`, async (t) => {
    const ours = await authority(t);
    const { grpc } = await start(t, context, await ours.sign('server'));
    const known = { tls: await shownBy(ours, 'caller'), authorization: `Bearer ${token}` };
    const { ca } = known.tls;
    const foreign = await shownBy(await authority(t), 'foreign');
    const late = await shownBy(ours, 'late', -1);
    t.true(paths.length > 3);
    for (const path of paths) {
      t.false([noAnswer, unauthenticated].includes(await callStatus(grpc, { ...known, path })), `known: ${path}`);
      const refusedCalls: Readonly<Record<string, readonly [asked: Asked, answer: string]>> = {
        'no TLS': [{ path, authorization: known.authorization }, noAnswer],
        'no certificate': [{ ...known, path, tls: { ca } }, noAnswer],
        'a foreign certificate': [{ ...known, path, tls: { ...foreign, ca } }, noAnswer],
        'an expired certificate': [{ ...known, path, tls: late }, noAnswer],
        'no token': [{ path, tls: known.tls }, unauthenticated],
        'another token': [{ ...known, path, authorization: 'Bearer another' }, unauthenticated],
        'half of a token': [{ ...known, path, authorization: `Bearer ${token.slice(0, 8)}` }, unauthenticated],
      };
      for (const [what, [asked, answer]] of Object.entries(refusedCalls))
        t.is(await callStatus(grpc, asked), answer, `${what}: ${path}`);
    }
  });

  test(`the ${context} process tells its health to whoever asks at the port for it, and nothing else there`, async (t) => {
    const ours = await authority(t);
    const { grpc, health } = await start(t, context, await ours.sign('server'));
    t.is(await callStatus(health, { path: healthPath }), ok);
    for (const path of paths)
      t.is(await callStatus(health, { path, authorization: `Bearer ${token}` }), notImplemented, path);
    t.is(await callStatus(grpc, { path: healthPath }), noAnswer, 'at the port of its calls a certificate is asked for');
  });
}

test('a process that waits for its store says so to whom it knows', async (t) => {
  const ours = await authority(t);
  const tls = await shownBy(ours, 'caller');
  for (const context of ['threads', 'execution'] as const) {
    const { grpc } = await start(t, context, await ours.sign(`${context}-server`));
    const [path = ''] = Object.values(definitionOf(context)).map((rpc) => rpc.path);
    t.is(await callStatus(grpc, { path, tls, authorization: `Bearer ${token}` }), away);
  }
});
