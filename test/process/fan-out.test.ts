import { EventEmitter, once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { createClient, user } from '../servers/client.ts';
import { makeWorkspace, startStandalone } from '../servers/standalone.ts';
import { byLoad } from '../by-load.ts';

const branches = 1000;
/** How often the process is killed: 20 times with `KILLS=20`. */
const kills = Number(process.env['KILLS'] ?? 5);
/** How many branches may be under way when the process dies. */
const sideBySide = 32;

interface Effects {
  readonly url: string;
  /** Idempotency keys of each item. */
  readonly keys: ReadonlyMap<string, ReadonlySet<string>>;
  /** How many requests came, repeated ones too. */
  readonly requests: () => number;
  /** How many were refused. */
  readonly refused: () => number;
  /** Resolves when so many items have had their effect. */
  readonly reached: (count: number) => Promise<void>;
}

/** Where the branches have their effects. The first request of 3 % of them is refused. */
async function openEffects(t: ExecutionContext): Promise<Effects> {
  const keys = new Map<string, Set<string>>();
  const failed = new Set<string>();
  const changes = new EventEmitter();
  let requests = 0;
  const server = createServer(({ url = '', headers }, response) => {
    requests += 1;
    if (Number(url.slice(1)) % 33 === 0 && !failed.has(url)) {
      failed.add(url);
      response.writeHead(503).end();
      return;
    }
    keys.set(url, (keys.get(url) ?? new Set()).add(String(headers['idempotency-key'])));
    response.end();
    changes.emit('effect');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${String(port)}`,
    keys,
    requests: () => requests,
    refused: () => failed.size,
    reached: async (count) => {
      while (keys.size < count) await once(changes, 'effect');
    },
  };
}

test('a fan-out of 1,000 branches whose process is killed again and again has the effect of each branch once', async (t) => {
  t.timeout(byLoad(300_000));
  const effects = await openEffects(t);
  await using workspace = await makeWorkspace('fan-out');
  let service = await startStandalone(workspace.env);
  const config = { thread_id: 'wide', effects: effects.url };
  const messages = [user(String(branches))];
  const accepted = await createClient(service.url).send('POST', '/v1/runs', {
    messages,
    config,
    response_granularity: 'partial',
  });
  const { run_id: runId } = accepted.body.data as { run_id: string };
  for (let kill = 1; kill <= kills; kill++) {
    await effects.reached(Math.floor((branches * kill) / (kills + 1)));
    await service.stop('SIGKILL');
    service = await startStandalone(workspace.env);
  }
  await using last = service;
  const { send } = createClient(last.url);
  const result = (await send('GET', `/v1/runs/${runId}/wait`)).body.data as {
    readonly meta: { readonly status: string };
    readonly iterations: number;
    readonly state: { readonly done: readonly number[] };
  };
  t.is(result.meta.status, 'completed');
  t.is(result.iterations, 1);
  t.deepEqual(
    result.state.done,
    Array.from({ length: branches }, (_, item) => item),
  );
  t.is(effects.keys.size, branches);
  t.true(
    [...effects.keys.values()].every((own) => own.size === 1),
    'a branch was repeated under another key',
  );
  const repeated = effects.requests() - branches - effects.refused();
  t.log(`${String(kills)} kills, ${String(effects.refused())} refused, ${String(repeated)} repeated`);
  t.true(repeated <= kills * sideBySide, `${String(repeated)} branches were repeated`);
});
