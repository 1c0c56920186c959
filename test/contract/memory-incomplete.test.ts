import test from 'ava';
import { openGatewayProcess } from '@agent-workflow/gateway/process';
import { openSqliteMemoryStore } from '@agent-workflow/memory/adapters/sqlite/store';
import { hashEmbedder } from '@agent-workflow/memory/embedders/hash';
import { createMemories } from '@agent-workflow/memory/memories';
import { serve } from '@agent-workflow/protos/wire/serve';
import { makeWorkspace } from '../servers/standalone.ts';

const since = Date.UTC(2026, 0, 2, 3, 4, 5);
const token = 'of-one-test';

test('a search says in its metadata since when memories may be missing while the index is repaired, and only then', async (t) => {
  await using store = openSqliteMemoryStore({ path: ':memory:', embedder: hashEmbedder });
  let incompleteSince: number | undefined = since;
  const memory = createMemories({
    store: { ...store, incompleteSince: () => incompleteSince },
    embedder: hashEmbedder,
    halfLifeDays: 30,
  });
  await using served = await serve(
    { memory },
    { host: '127.0.0.1', port: 0, drainMs: 100, onFailure: (error) => t.log(error), security: { token } },
  );
  await using workspace = await makeWorkspace(null);
  const address = `127.0.0.1:${served.port}`;
  await using gateway = await openGatewayProcess({
    ...workspace.env,
    ...{ PORT: '0', LOG_LEVEL: 'silent', SERVICE_TOKEN: token, DRAIN_SECONDS: '1' },
    ...{ THREADS_ADDRESS: address, EXECUTION_ADDRESS: address, MEMORY_ADDRESS: address },
  });
  const url = / listens on (\S+)$/.exec(gateway.startLines.at(-1) ?? '')?.[1] ?? '';
  const search = async (): Promise<Record<string, unknown>> => {
    const body = JSON.stringify({ query: 'tea' });
    const headers = { 'content-type': 'application/json' };
    const reply = await fetch(`${url}/v1/store/search`, { method: 'POST', headers, body });
    t.is(reply.status, 200);
    return ((await reply.json()) as { metadata: Record<string, unknown> }).metadata;
  };
  t.is((await search())['incomplete_since'], new Date(since).toISOString());
  incompleteSince = undefined;
  t.false('incomplete_since' in (await search()));
});
