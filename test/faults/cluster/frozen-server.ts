import { setTimeout as delay } from 'node:timers/promises';
import type { ExecutionContext, TestFn } from 'ava';
import { createClient, user, type Client } from '../../servers/client.ts';
import type { WholePrivateCluster } from '../../servers/cluster.ts';
import { until } from '../../until.ts';

/** Deadline of a call of the gateway to a service, in milliseconds. */
export const callMs = 4000;
/** A call ends by its deadline; the rest is for a machine that does other things too. In milliseconds. */
const boundMs = 12_000;

/** The servers, and which calls are answered with success while one of them is frozen. */
const servers = {
  cassandra: ['remember', 'search', 'memories'],
  nats: ['read', 'state', 'list', 'add', 'remember', 'search', 'memories', 'ready'],
  redis: ['invoke', 'run', 'read', 'state', 'list', 'add', 'remember', 'search', 'memories', 'ready'],
  weaviate: ['invoke', 'run', 'read', 'state', 'list', 'add', 'ready'],
} as const;

export function frozenServer(test: TestFn, cluster: () => WholePrivateCluster): void {
  for (const server of ['cassandra', 'nats', 'redis', 'weaviate'] as const)
    test.serial(`${server} freezes: each call ends by its deadline, and all goes on when it does`, (t) =>
      freeze(t, cluster(), server),
    );
}

interface Answer {
  readonly name: string;
  readonly status: number;
  readonly retryAfter: string | null;
  readonly ms: number;
  readonly text: string;
}

async function freeze(
  t: ExecutionContext,
  { urls, ground }: WholePrivateCluster,
  server: keyof typeof servers,
): Promise<void> {
  const { send } = createClient(urls[0] ?? '');
  const thread = `frozen-${server}`;
  const calls = callsOf(thread);
  const names = Object.keys(calls);
  const call = async (name: string): Promise<Answer> => {
    const start = performance.now();
    const { status, body, headers } = await send(...(calls[name] as Parameters<Client['send']>));
    const ms = Math.round(performance.now() - start);
    return { name, status, retryAfter: headers.get('retry-after'), ms, text: JSON.stringify(body) };
  };
  const beside = { messages: [user('go')], config: { thread_id: `${thread}-beside` } };
  await send('POST', '/v1/graph/invoke', beside);
  await until(async () => {
    const answers: Answer[] = [];
    for (const name of names) answers.push(await call(name));
    return answers.every(({ status }) => status < 300);
  });

  await ground[server].freeze();
  // A run that was accepted waits for the events of its end: its caller may wait for minutes, and is answered in the end.
  const invoked = call('invoke');
  const ended = await Promise.all(names.filter((name) => name !== 'invoke').map(call));
  await Promise.race([invoked, delay(callMs)]);
  await ground[server].thaw();
  const thawed = performance.now();
  const answers = [await invoked, ...ended];
  for (const { name, status, ms } of answers) t.log(`${name}: ${status} after ${ms} ms`);
  for (const { name, status, retryAfter, text } of answers) {
    const isRefused = (status === 503 || status === 504) && retryAfter !== null;
    t.true(status < 300 || isRefused, `${name}: ${status} ${text}`);
  }
  for (const name of servers[server]) t.true((answers.find((each) => each.name === name)?.status ?? 0) < 300, name);
  t.true(Math.max(...ended.map(({ ms }) => ms)) < boundMs);
  await until(async () => (await Promise.all(names.map(call))).every(({ status }) => status < 300));
  t.log(`all goes on ${Math.round(performance.now() - thawed)} ms after ${server} does`);
}

function callsOf(thread: string): Readonly<Record<string, Parameters<Client['send']>>> {
  const path = `/v1/threads/${thread}`;
  const config = { thread_id: thread };
  return {
    invoke: ['POST', '/v1/graph/invoke', { messages: [user('go')], config }],
    run: ['POST', '/v1/runs', { messages: [user('go')] }],
    read: ['GET', path],
    state: ['GET', `${path}/state`],
    list: ['GET', '/v1/threads'],
    add: ['POST', `/v1/threads/${thread}-beside/messages`, { messages: [user('more')], config: {} }],
    remember: ['POST', '/v1/store/memories', { content: thread, memory_type: 'semantic', category: 'frozen' }],
    search: ['POST', '/v1/store/search', { query: thread }],
    memories: ['GET', '/v1/store/memories'],
    ready: ['GET', '/readyz'],
  };
}
