import { setTimeout as delay } from 'node:timers/promises';
import { createClient, user, type Client } from '../../servers/client.ts';
import type { Replica } from '../../servers/cluster-replica.ts';
import type { Cluster } from '../../servers/cluster.ts';
import { until } from '../../until.ts';

/** The kinds of replica that are frozen, and for how many milliseconds: a worker until its runs have gone on elsewhere. */
export const frozenMs = { threads: 4000, executions: 7000, memories: 4000 };
/** Callers that call one after the other. */
const callers = 4;

/** What the calls of one freeze came to. */
interface Tally {
  /** Milliseconds of the calls that began while it was frozen, by what was called. */
  readonly times: Map<string, number[]>;
  /** Milliseconds of those that were under way when it froze: a run that it drove waits for its lease to run out. */
  readonly underWay: number[];
  /** Calls that were answered with anything but 200. */
  readonly failures: string[];
  /** The messages that were accepted, by the thread that they were sent to. */
  readonly accepted: Map<string, string[]>;
  frozenAt: number;
}

/** Stops the first replica of a kind while callers go on, and lets it go on. */
export async function freezeUnderLoad(cluster: Cluster, kind: keyof typeof frozenMs): Promise<Tally> {
  const replica = cluster[kind][0] as Replica;
  const tally: Tally = { times: new Map(), underWay: [], failures: [], accepted: new Map(), frozenAt: Infinity };
  const stopping = new AbortController();
  const load = Array.from({ length: callers }, async (_, index) => {
    const client = createClient(cluster.urls[index % cluster.urls.length] ?? '');
    await callUntil(stopping.signal, { client, tally, thread: `frozen ${replica.name} ${index}` });
  });
  await until(() => tally.accepted.size === callers && [...tally.accepted.values()].every(({ length }) => length > 2));
  tally.frozenAt = performance.now();
  process.kill(replica.pid(), 'SIGSTOP');
  await delay(frozenMs[kind]);
  process.kill(replica.pid(), 'SIGCONT');
  stopping.abort();
  await Promise.all(load);
  return tally;
}

interface Load {
  readonly client: Client;
  readonly tally: Tally;
  readonly thread: string;
}

/** Runs, messages and reads of one thread in turn, and what is remembered beside it. */
async function callUntil(signal: AbortSignal, { client: { send }, tally, thread }: Load): Promise<void> {
  const texts: string[] = [];
  tally.accepted.set(thread, texts);
  const path = `/v1/threads/${encodeURIComponent(thread)}`;
  const timed = async (name: string, ...request: Parameters<Client['send']>): Promise<void> => {
    const start = performance.now();
    const { status, body } = await send(...request);
    const ms = performance.now() - start;
    if (start >= tally.frozenAt) tally.times.set(name, [...(tally.times.get(name) ?? []), ms]);
    else if (start + ms >= tally.frozenAt) tally.underWay.push(ms);
    if (status !== 200) tally.failures.push(`${name}: ${status} ${JSON.stringify(body)}`);
  };
  for (let round = 0; !signal.aborted; round++) {
    const [text, added] = [`round ${round}`, `round ${round} again`];
    texts.push(text, added);
    await timed('invoke', 'POST', '/v1/graph/invoke', { messages: [user(text)], config: { thread_id: thread } });
    await timed('add', 'POST', `${path}/messages`, { messages: [user(added)], config: {} });
    await timed('read', 'GET', path);
    await timed('state', 'GET', `${path}/state`);
    const memory = { content: text, memory_type: 'semantic', category: thread };
    await timed('remember', 'POST', '/v1/store/memories', memory);
    await timed('search', 'POST', '/v1/store/search', { query: text });
  }
}
