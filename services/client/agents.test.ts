import test from 'ava';
import { createClient, type Client } from './client.ts';

interface Asked {
  readonly method: string | undefined;
  /** Path and query. */
  readonly path: string;
  readonly body: unknown;
}

/** A client whose requests are kept, and which all have the same reply. */
function recordingClient(data: object): { readonly client: Client; readonly asked: Asked[] } {
  const asked: Asked[] = [];
  const client = createClient({
    url: 'http://service.test',
    fetch: (address, init) => {
      const { pathname, search } = address as URL;
      const body: unknown = typeof init?.body === 'string' ? JSON.parse(init.body) : undefined;
      asked.push({ method: init?.method, path: pathname + search, body });
      return Promise.resolve(new Response(JSON.stringify({ data })));
    },
  });
  return { client, asked };
}

test('agents are listed, and one is read by its name', async (t) => {
  const agents = [{ name: 'support', description: null, is_default: true, tools: ['refund'] }];
  const { client, asked } = recordingClient({ agents });
  t.deepEqual(await client.agents.list(), { agents });
  await client.agents.get('a/b');
  t.deepEqual(
    asked.map(({ method, path }) => [method, path]),
    [
      ['GET', '/v1/agents'],
      ['GET', '/v1/agents/a%2Fb'],
    ],
  );
});

test('an agent is routed and a revision of it is retired', async (t) => {
  const { client, asked } = recordingClient({});
  const routing = { version: 1, current: 'v2', ramping: { revision: 'v3', percent: 10 } };
  await client.agents.route('support', routing);
  await client.agents.retire('support', 'a@b');
  t.deepEqual(asked, [
    { method: 'PUT', path: '/v1/agents/support/routing', body: routing },
    { method: 'POST', path: '/v1/agents/support/revisions/a%40b/retire', body: undefined },
  ]);
});

test('graph, state schema and runs are those of the agent that is given, else none is named', async (t) => {
  const { client, asked } = recordingClient({ runs: [], has_more: false });
  for (const agent of ['billing', undefined]) {
    await client.graph({ agent });
    await client.stateSchema({ agent });
    await client.runs.list({ status: ['queued'], ...(agent !== undefined && { agent }) });
  }
  t.deepEqual(
    asked.map(({ path }) => path),
    [
      '/v1/graph?agent=billing',
      '/v1/graph:StateSchema?agent=billing',
      '/v1/runs?agent=billing&status=queued',
      '/v1/graph',
      '/v1/graph:StateSchema',
      '/v1/runs?status=queued',
    ],
  );
});

test('tools are set up beside those of an agent', async (t) => {
  const { client, asked } = recordingClient({ success: true });
  await client.setUp([{ name: 'locate' }], { agent: 'billing' });
  await client.setUp([{ name: 'locate' }]);
  t.deepEqual(
    asked.map(({ body }) => body),
    [{ tools: [{ name: 'locate' }], config: { agent: 'billing' } }, { tools: [{ name: 'locate' }] }],
  );
});
