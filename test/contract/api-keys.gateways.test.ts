import { setTimeout as delay } from 'node:timers/promises';
import { openGatewayProcess } from '@agent-workflow/gateway/process';
import { createLog } from '@agent-workflow/kit/log';
import { serve } from '@agent-workflow/protos/wire/serve';
import { openSqliteThreadStore } from '@agent-workflow/threads/adapters/sqlite/store';
import { openThreads } from '@agent-workflow/threads/open';
import test, { type ExecutionContext } from 'ava';
import { byLoad } from '../by-load.ts';
import { keysCommand } from '../servers/keys-command.ts';
import { makeWorkspace } from '../servers/standalone.ts';

const token = 'shared by the cluster';

interface Served {
  readonly urls: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** A threads service, and three gateways in front of it; of the other services nobody answers. */
async function serveGateways(t: ExecutionContext): Promise<Served> {
  const log = createLog('test', 'silent');
  const store = openSqliteThreadStore({ path: ':memory:' });
  const opened = openThreads({ store, values: { CHECKPOINT_KEEP: 1, CHECKPOINT_TTL: 0, OPEN_QUESTIONS: 1 }, log });
  t.teardown(() => opened[Symbol.asyncDispose]());
  const wire = { host: '127.0.0.1', port: 0, drainMs: 100, onFailure: () => undefined, security: { token } };
  const server = await serve({ threads: opened.threads }, wire);
  t.teardown(() => server[Symbol.asyncDispose]());
  const workspace = await makeWorkspace(null, { auth: 'jwt' });
  t.teardown(() => workspace[Symbol.asyncDispose]());
  const env = { THREADS_ADDRESS: `127.0.0.1:${String(server.port)}`, SERVICE_TOKEN: token };
  const nobody = '127.0.0.1:9';
  const gateways = await Promise.all(
    [1, 2, 3].map(() =>
      openGatewayProcess({
        ...{ ...env, SERVICE_CONFIG: workspace.env['SERVICE_CONFIG'], API_KEYS: 'on', LOG_LEVEL: 'silent' },
        ...{ HOST: '127.0.0.1', PORT: '0', EXECUTION_ADDRESS: nobody, MEMORY_ADDRESS: nobody, METRICS_PORT: '0' },
        ...{ FILES_SECRET: 's'.repeat(32), FILES_BUCKET: '', RATE_LIMIT_REQUESTS: '0', RATE_LIMIT_AUTH_FAILURES: '0' },
      }),
    ),
  );
  for (const gateway of gateways) t.teardown(() => gateway[Symbol.asyncDispose]());
  return { env, urls: gateways.map(({ startLines }) => /http:\S+$/.exec(startLines.at(-1) ?? '')?.[0] ?? '') };
}

test('a key that the command makes is taken by three gateways, and by none 5 s after the command has revoked it, under load', async (t) => {
  const { urls, env } = await serveGateways(t);
  const make = async (user: string): Promise<string> => {
    const { out, complaint } = await keysCommand(env, 'create', '--user', user, '--scopes', 'checkpointer:read');
    t.regex(out, /^awk_/, complaint);
    return out.trim();
  };
  const [key, other] = [await make('ada'), await make('bo')];
  // 0 where the connection ended: that of a request under way does when its key is revoked.
  const statusOf = async (url: string, shown: string): Promise<number> => {
    const asked = fetch(`${url}/v1/threads`, { headers: { 'x-api-key': shown } });
    return asked.then(async (reply) => reply.arrayBuffer().then(() => reply.status)).catch(() => 0);
  };
  for (const url of urls) t.is(await statusOf(url, key), 200);

  const life = new AbortController();
  let revokedAt = Infinity;
  const letIn: number[] = [];
  let [requests, refusedOthers] = [0, 0];
  const load = urls.flatMap((url) => [
    (async () => {
      while (!life.signal.aborted) {
        if ((await statusOf(url, key)) === 200) letIn.push(Date.now() - revokedAt);
        requests += 1;
      }
    })(),
    (async () => {
      while (!life.signal.aborted) if ((await statusOf(url, other)) !== 200) refusedOthers += 1;
    })(),
  ]);
  await delay(500);
  const revoked = await keysCommand(env, 'revoke', key.slice(4, 20));
  revokedAt = Date.now();
  t.is(revoked.code, 0, revoked.complaint);
  await delay(6000);
  life.abort();
  await Promise.all(load);
  const last = Math.max(...letIn);
  t.log(`${String(requests)} requests; the last was let in ${String(last)} ms after the revocation`);
  t.true(last < byLoad(5000), String(last));
  for (const url of urls) t.is(await statusOf(url, key), 401);
  t.is(refusedOthers, 0);
});
