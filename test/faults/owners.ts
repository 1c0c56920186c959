import type { ExecutionContext } from 'ava';
import { createClient, readChunks, user, type Chunk, type Client } from '../servers/client.ts';
import type { Gate } from '../servers/gate.ts';
import { makeWorkspace, startStandalone, type StandaloneProcess, type Workspace } from '../servers/standalone.ts';
import { inSeconds, makeToken } from '../servers/tokens.ts';
import { until } from '../until.ts';

const secret = 'faults'.repeat(10);

/** The service with several owners: each signs in with a token. */
export interface OwnedService extends AsyncDisposable {
  /** The process that serves now. */
  readonly process: () => StandaloneProcess;
  readonly owners: readonly Owner[];
  /** Serves again, after the process has ended. */
  readonly restart: () => Promise<void>;
  /** The value of a metric with these labels; `undefined` when there is none. */
  readonly metric: (name: string, labels: string) => Promise<number | undefined>;
  /** The status of `/readyz` and the parts that it names. */
  readonly ready: () => Promise<Readiness>;
}

interface Readiness {
  readonly status: number;
  readonly degraded: readonly { readonly name: string; readonly reason: string }[];
}

export interface Owner {
  readonly name: string;
  readonly client: () => Client;
  /** Chunks of a run, from after the event of this id. */
  readonly follow: (runId: string, after: string | undefined) => AsyncGenerator<Chunk>;
  /** Ids of the runs that were accepted. */
  readonly runs: string[];
  /** Texts of the messages whose writes were answered with 200. */
  readonly stored: string[];
  readonly log: string;
}

interface OwnedOptions {
  readonly names?: readonly string[];
  /** Where the data is kept; in the workspace unless told. */
  readonly folder?: string | undefined;
  readonly agent?: string;
  readonly env?: Readonly<Record<string, string>>;
}

export async function openOwned({
  names = ['ada', 'bob', 'eve'],
  folder,
  agent = 'gated',
  env = {},
}: OwnedOptions = {}): Promise<OwnedService> {
  await using opening = new AsyncDisposableStack();
  const workspace: Workspace = opening.use(await makeWorkspace(agent, { auth: 'jwt' }));
  const settings = {
    ...workspace.env,
    ...{ JWT_SECRET_KEY: secret, METRICS_PORT: '0', METRICS_HOST: '127.0.0.1', HOST: '127.0.0.1' },
    ...(folder !== undefined && { DATA_DIR: folder }),
    ...env,
  };
  let serving = await startStandalone(settings);
  opening.defer(async () => serving[Symbol.asyncDispose]());
  const owners = names.map((name): Owner => {
    const token = makeToken('HS256', secret, { claims: { user_id: name, exp: inSeconds(3600) } });
    const signedIn = { authorization: `Bearer ${token}` };
    const client = (): Client => createClient(serving.url, signedIn);
    const follow = async function* (runId: string, after: string | undefined): AsyncGenerator<Chunk> {
      const headers = { ...signedIn, ...(after !== undefined && { 'last-event-id': after }) };
      yield* readChunks(await fetch(`${serving.url}/v1/runs/${runId}/stream`, { headers }));
    };
    return { name, client, follow, runs: [], stored: [], log: `log-${name}` };
  });
  const opened = opening.move();
  return {
    process: () => serving,
    owners,
    restart: async () => {
      serving = await startStandalone(settings);
    },
    metric: async (name, labels) => {
      const base = serving.lines.find((line) => line.startsWith('metrics are at '))?.slice('metrics are at '.length);
      const text = await (await fetch(base ?? '')).text();
      const line = text.split('\n').find((one) => one.startsWith(`${name}${labels} `));
      return line === undefined ? undefined : Number(line.slice(name.length + labels.length + 1));
    },
    ready: async () => {
      const { status, body } = await createClient(serving.url).send('GET', '/readyz');
      return { status, degraded: (body.data as Readiness | undefined)?.degraded ?? [] };
    },
    [Symbol.asyncDispose]: async () => opened.disposeAsync(),
  };
}

/** Starts so many runs of each owner, each on a thread of its own, and waits until all of them stand at the gate. */
export async function startGatedRuns(
  t: ExecutionContext,
  { owners }: OwnedService,
  gate: Gate,
  each: number,
): Promise<void> {
  for (const { client, runs, name } of owners) {
    for (let index = 0; index < each; index++) {
      const config = { thread_id: `run-${name}-${String(index)}`, gate: gate.url };
      const { status, body } = await client().send('POST', '/v1/runs', { messages: [user('go')], config });
      t.is(status, 202, JSON.stringify(body));
      runs.push((body.data as { run_id: string }).run_id);
    }
  }
  await gate.visited(owners.length * each);
}

/** Makes the thread that messages are added to. */
export async function openLogs(t: ExecutionContext, { owners }: OwnedService, gate: Gate): Promise<void> {
  for (const { client, log } of owners) {
    const request = { messages: [user('first')], config: { thread_id: log, gate: gate.url } };
    t.is((await client().send('POST', '/v1/graph/invoke', request)).status, 200);
  }
}

/** Adds one message to the owner's log; one that was answered with 200 is remembered. */
export async function addMessage(owner: Owner, bytes: number): ReturnType<Client['send']> {
  const text = `${String(owner.stored.length)} of ${owner.name} `.padEnd(bytes, 'x');
  const path = `/v1/threads/${owner.log}/messages`;
  const reply = await owner.client().send('POST', path, { messages: [user(text)] });
  if (reply.status === 200) owner.stored.push(text);
  return reply;
}

/** Every run of every owner has completed, and every message that was answered with 200 is there. */
export async function nothingIsLost(t: ExecutionContext, { owners }: OwnedService): Promise<void> {
  for (const owner of owners) {
    const ends = await Promise.all(
      owner.runs.map(async (runId) => owner.client().send('GET', `/v1/runs/${runId}/wait`)),
    );
    t.deepEqual(
      ends.map(({ status, body }) => [status, (body.data as { meta?: { status: string } } | undefined)?.meta?.status]),
      owner.runs.map(() => [200, 'completed']),
    );
    const texts = new Set(await textsOf(owner));
    t.deepEqual(
      owner.stored.filter((text) => !texts.has(text)).map((text) => text.slice(0, 20)),
      [],
    );
  }
}

async function textsOf({ client, log }: Owner): Promise<readonly string[]> {
  const texts: string[] = [];
  for (let cursor: string | undefined = ''; cursor !== undefined;) {
    const query = cursor === '' ? '' : `?cursor=${encodeURIComponent(cursor)}`;
    const { body } = await client().send('GET', `/v1/threads/${log}/messages${query}`);
    const page = body.data as { messages: { content: { text: string }[] }[]; cursor?: string | null };
    for (const { content } of page.messages) texts.push(content.map(({ text }) => text).join(''));
    cursor = page.cursor ?? undefined;
  }
  return texts;
}

/** What a follower of a run was given, over one connection or, where that ends early, over several. */
interface Followed {
  readonly chunks: readonly Chunk[];
  readonly connections: number;
}

/** Follows a run to its end as a user's program does: what breaks off is resumed after the last event. */
export async function followRun(owner: Owner, runId: string): Promise<Followed> {
  const chunks: Chunk[] = [];
  let connections = 0;
  const isOver = (): boolean => ['on_chain_end', 'error'].includes(chunks.at(-1)?.event ?? '');
  await until(
    async () => {
      connections++;
      try {
        for await (const chunk of owner.follow(runId, chunks.at(-1)?.id)) chunks.push(chunk);
      } catch {
        // The next connection goes on.
      }
      return isOver();
    },
    { timeoutMs: 60_000 },
  );
  return { chunks, connections };
}

/** Numbers of a log from 1 without a gap, and one end. */
export function isWhole({ chunks }: Followed): boolean {
  const numbers = chunks.map(({ id }) => Number(id.slice(id.lastIndexOf(':') + 1)));
  const ends = chunks.filter(({ event }) => event === 'on_chain_end');
  return numbers.every((number, index) => number === index + 1) && ends.length === 1;
}
