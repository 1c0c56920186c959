import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { makeKey, revokeKey } from '@agent-workflow/gateway/api-keys/kept-key';
import { within } from '@agent-workflow/protos/call';
import { connect } from '@agent-workflow/protos/wire/connect';
import { createClient, user } from '../servers/client.ts';
import { withCluster } from '../servers/cluster-suite.ts';
import { serviceToken } from '../servers/cluster.ts';

const module = fileURLToPath(new URL('../backends/roles.ts', import.meta.url));
const options = {
  agent: 'ticking',
  gateways: 3,
  env: { API_KEYS: 'on' },
  service: {
    auth: { method: 'custom', path: `${module}:Named` },
    access: { roles: { staff: { is: 'user' as const } } },
  },
};

/** Readers of each gateway, and callers that keep the cluster busy. */
const [readersEach, busy] = [20, 6];

/** Within which nothing is delivered any more, in milliseconds. */
const bound = 5000;

const ofAda = { 'x-user': 'ada', 'x-roles': '' };
const ofBob = { 'x-user': 'bob', 'x-roles': '' };

interface Reader {
  /** Resolves at its end. */
  readonly ended: Promise<void>;
  readonly lastAt: () => number;
  /** Resolves when something has come. */
  readonly begun: Promise<void>;
}

/** Reads a stream, and notes when something of it came last. */
async function read(t: ExecutionContext, url: string, headers: Readonly<Record<string, string>>): Promise<Reader> {
  const { status, body } = await fetch(url, { headers });
  t.is(status, 200);
  let lastAt = 0;
  const begun = Promise.withResolvers<undefined>();
  const readAll = async (): Promise<void> => {
    for await (const bytes of body ?? []) {
      if (!Buffer.from(bytes).includes('tick')) continue;
      lastAt = Date.now();
      begun.resolve(undefined);
    }
  };
  // A connection that is cut ends it, too.
  return { ended: readAll().catch(() => undefined), lastAt: () => lastAt, begun: begun.promise };
}

withCluster(test, options, (cluster) => {
  /** Callers that invoke until they are told to stop. */
  function load(): AsyncDisposable {
    let isOver = false;
    const call = async (index: number): Promise<void> => {
      const client = createClient(cluster().urls[index % 3] ?? '', {
        'x-user': `busy-${String(index)}`,
        'x-roles': '',
      });
      while (!isOver) await client.send('POST', '/v1/graph/invoke', { messages: [user('0.1')] });
    };
    const calls = Array.from({ length: busy }, (_, index) => call(index));
    return {
      [Symbol.asyncDispose]: async () => {
        isOver = true;
        await Promise.all(calls);
      },
    };
  }

  const begin = async (thread_id: string): Promise<string> => {
    const ada = createClient(cluster().urls[0] ?? '', ofAda);
    const body = { messages: [user('60')], config: { thread_id } };
    return ((await ada.send('POST', '/v1/runs', body)).body.data as { run_id: string }).run_id;
  };

  const readersOf = (t: ExecutionContext, path: string, headers: Readonly<Record<string, string>>) =>
    Promise.all(
      cluster().urls.flatMap((url) => Array.from({ length: readersEach }, () => read(t, `${url}${path}`, headers))),
    );

  async function checkEnd(t: ExecutionContext, readers: readonly Reader[], revoke: () => Promise<unknown>) {
    await Promise.all(readers.map(({ begun }) => begun));
    await revoke();
    const revokedAt = Date.now();
    await Promise.all(readers.map(({ ended }) => ended));
    const last = Math.max(...readers.map(({ lastAt }) => lastAt())) - revokedAt;
    t.true(last < bound, `something came ${String(last)} ms after the revocation`);
    t.log(`${String(readers.length)} streams: the last word came ${String(last)} ms after the revocation`);
  }

  test.serial(
    'a share that is revoked delivers nothing after five seconds, on any of three gateways under load',
    async (t) => {
      await using _ = load();
      const runId = await begin('shared');
      const ada = createClient(cluster().urls[0] ?? '', ofAda);
      const made = await ada.send('POST', '/v1/threads/shared/shares', { to: { user: 'bob' } });
      const { share_id: id } = made.body.data as { share_id: string };
      const path = `/v1/shared/${id}/runs/${runId}/stream`;
      const owner = await readersOf(t, `/v1/runs/${runId}/stream`, ofAda);
      await checkEnd(t, await readersOf(t, path, ofBob), () => ada.send('DELETE', `/v1/threads/shared/shares/${id}`));
      for (const url of cluster().urls)
        t.is((await createClient(url, ofBob).send('GET', `/v1/shared/${id}`)).status, 404);
      const before = Math.max(...owner.map(({ lastAt }) => lastAt()));
      t.true(Date.now() - before < bound, 'the owner reads on');
      await ada.send('POST', `/v1/runs/${runId}/cancel`, {});
      await Promise.all(owner.map(({ ended }) => ended));
    },
  );

  test.serial(
    'a key that is revoked delivers nothing after five seconds, on any of three gateways under load',
    async (t) => {
      await using _ = load();
      const { THREADS_ADDRESS: address = '' } = cluster().env;
      await using threads = connect('threads', address, { token: serviceToken });
      const call = () => within(30_000);
      const terms = { user: 'ada', roles: [], scopes: ['*'], expiresAt: Date.now() + 3_600_000, name: 'test' };
      const { id, text } = await makeKey(terms, threads, call);
      const runId = await begin('by-key');
      const byKey = { authorization: `Bearer ${text}` };
      const readers = await readersOf(t, `/v1/runs/${runId}/stream`, byKey);
      await checkEnd(t, readers, () => revokeKey(id, threads, call));
      for (const url of cluster().urls) t.is((await createClient(url, byKey).send('GET', '/v1/threads')).status, 401);
      const ada = createClient(cluster().urls[0] ?? '', ofAda);
      await ada.send('POST', `/v1/runs/${runId}/cancel`, {});
    },
  );
});
