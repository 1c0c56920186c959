import { randomUUID } from 'node:crypto';
import { openNatsCodeCalls } from '@agent-workflow/execution/adapters/nats/code-calls/code-calls';
import { hashOfPool } from '@agent-workflow/execution/adapters/nats/client/pools';
import { openNatsClient, type NatsClient } from '@agent-workflow/execution/adapters/nats/client/client';
import { openNatsWorkerLeases } from '@agent-workflow/execution/adapters/nats/leases';
import { openNatsRunLog } from '@agent-workflow/execution/adapters/nats/log/log';
import { openNatsRunQueue } from '@agent-workflow/execution/adapters/nats/queue/queue';
import {
  createStreams,
  type Streams,
  type StreamSettings,
} from '@agent-workflow/execution/adapters/nats/client/streams';
import { headers as createHeaders, type Msg, type MsgHdrs } from 'nats';
import type { CodeGround } from './code-ground.ts';
import type { WorkerLeases } from '@agent-workflow/execution/ports/leases';
import type { RunLog } from '@agent-workflow/execution/ports/log';
import type { RunQueue } from '@agent-workflow/execution/ports/queue';
import { createLog } from '@agent-workflow/kit/log';

const silentLog = createLog('test', 'silent');

/** What one test file calls its streams by: the server is shared with others. */
const file = randomUUID().slice(0, 8);

/** A place of one's own on a server: a connection, and streams that go with it when `keep` is not set. */
interface Place extends AsyncDisposable {
  readonly client: NatsClient;
  readonly streams: Streams;
}

const settings: Omit<StreamSettings, 'prefix'> = {
  replicas: 1,
  eventsMaxAgeMs: 3_600_000,
  eventsMaxBytes: 0,
  settleMs: 6000,
};

/** Connects to a server at a place of this file; other settings than the tests' usual ones may be given. */
export async function openPlace(url: string, place: string, given: Partial<StreamSettings> = {}): Promise<Place> {
  const client = await openNatsClient({ url, name: 'test', log: silentLog });
  const streams = await createStreams(client, { ...settings, prefix: `${file}-${place}`, ...given });
  return { client, streams, [Symbol.asyncDispose]: async () => client[Symbol.asyncDispose]() };
}

/** Removes what a place has on the server. */
export async function clearPlace({ streams: { manager, names } }: Place): Promise<void> {
  for (const name of [names.runs, names.events]) await manager.streams.delete(name).catch(() => false);
}

/** A port's adapter together with the connection it works over. */
export const joined = <T extends AsyncDisposable>(adapter: T, place: AsyncDisposable): T => ({
  ...adapter,
  [Symbol.asyncDispose]: async () => {
    await adapter[Symbol.asyncDispose]();
    await place[Symbol.asyncDispose]();
  },
});

const hourMs = 3_600_000;

export async function openLogsOn(url: string, place: string): Promise<RunLog> {
  const opened = await openPlace(url, place);
  return joined(await openNatsRunLog({ streams: opened.streams, retentionMs: hourMs, log: silentLog }), opened);
}

let queues = 0;

/** An empty queue, whose streams go with it. */
export async function openQueueOn(url: string): Promise<RunQueue> {
  const opened = await openPlace(url, `queue-${String(queues++)}`);
  const cleared = {
    [Symbol.asyncDispose]: async () => clearPlace(opened).then(async () => opened[Symbol.asyncDispose]()),
  };
  return joined(await openNatsRunQueue({ streams: opened.streams, log: silentLog, watchMs: 10_000 }), cleared);
}

/** How long silence must last in tests before it means death, in milliseconds. */
const silenceMs = 300;

/** Leases as two replicas have them, each over a connection of its own. */
export async function openLeasesOn(
  url: string,
): Promise<AsyncDisposable & { readonly here: WorkerLeases; readonly there: WorkerLeases }> {
  const place = `leases-${String(queues++)}`;
  const open = async (): Promise<WorkerLeases> => {
    const opened = await openPlace(url, place);
    const { prefix } = opened.streams.settings;
    return joined(
      await openNatsWorkerLeases({ client: opened.client, prefix, leaseMs: silenceMs, counts: true }),
      opened,
    );
  };
  const [here, there] = [await open(), await open()];
  return {
    here,
    there,
    [Symbol.asyncDispose]: async () => {
      for (const each of [here, there]) await each[Symbol.asyncDispose]();
    },
  };
}

/** Calls of code, each process with a connection of its own. */
export async function openCodeCallsOn(
  url: string,
  callsAtOnce?: number,
): Promise<
  CodeGround & {
    /** Sends this to the workers of the agent `support`. */
    readonly sendRaw: (headers: Readonly<Record<string, string>>, data: string) => Promise<void>;
    /** Answers the calls for the agent `support` with these headers, as a worker that follows no rule, and sees what is sent to a subject. */
    readonly answerRaw: (headers: Readonly<Record<string, string>>, watched: string) => Promise<ReadonlySet<string>>;
    /** Takes the calls for the agent `support`, and replies with this text in parts of so many bytes. `total` is what it names as its length. */
    readonly replyRaw: (
      text: string,
      options?: { readonly partBytes?: number; readonly total?: number },
    ) => Promise<void>;
  }
> {
  const prefix = `${file}-calls-${String(queues++)}`;
  const opened = new AsyncDisposableStack();
  const open = async () => {
    const client = opened.use(await openNatsClient({ url, name: 'test', log: silentLog }));
    return { client, calls: opened.use(openNatsCodeCalls({ client, prefix, ...(callsAtOnce && { callsAtOnce }) })) };
  };
  const { client, calls } = await open();
  return {
    calls,
    openWorker: async (held, reduce) => {
      const worker = await open();
      const service = await worker.calls.serve(held, reduce);
      return { service, die: async () => worker.client.connection.close() };
    },
    answerRaw: async (values, watched) => {
      const seen = new Set<string>();
      client.connection.subscribe(watched, { callback: (_error, { subject }) => void seen.add(subject) });
      client.connection.subscribe(`${prefix}.code.${hashOfPool({ agent: 'support' })}`, {
        callback: (_error, message) => void message.respond(undefined, { headers: toNatsHeaders(values) }),
      });
      await client.flush(5000);
      return seen;
    },
    replyRaw: async (text, { partBytes = Infinity, total = Buffer.byteLength(text) } = {}) => {
      const subject = `${prefix}.code.${hashOfPool({ agent: 'support' })}`;
      const answer = (message: Msg, values: Readonly<Record<string, string>>, data?: Buffer): void =>
        void message.respond(data, { headers: toNatsHeaders(values) });
      client.connection.subscribe(subject, {
        callback: (_error, message) => answer(message, { step: 'taken', to: `${subject}.a.b` }),
      });
      client.connection.subscribe(`${subject}.a.b`, {
        callback: (_error, message) => {
          const at = Number(message.headers?.get('at'));
          const part = Buffer.from(text).subarray(at, at + partBytes);
          answer(message, { step: 'reply', total: String(total) }, part);
        },
      });
      await client.flush(5000);
    },
    sendRaw: async (values, data) => {
      const headers = toNatsHeaders(values);
      client.connection.publish(`${prefix}.code.${hashOfPool({ agent: 'support' })}`, data, { headers });
      await client.flush(5000);
    },
    [Symbol.asyncDispose]: async () => opened.disposeAsync(),
  };
}

function toNatsHeaders(values: Readonly<Record<string, string>>): MsgHdrs {
  const headers = createHeaders();
  for (const [name, value] of Object.entries(values)) headers.set(name, value);
  return headers;
}
