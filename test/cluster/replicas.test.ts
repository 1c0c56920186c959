import test, { type ExecutionContext } from 'ava';
import { createClient, user, type Client } from '../servers/client.ts';
import type { Replica } from '../servers/cluster-replica.ts';
import { withCluster } from '../servers/cluster-suite.ts';
import { openGate, type Gate } from '../servers/gate.ts';

const drainMs = 1000;
/** What a machine that does other things too may take for what takes a few milliseconds. */
const stoppedWithinMs = 2000;

withCluster(test, { agent: 'located', env: { DRAIN_SECONDS: String(drainMs / 1000) } }, (cluster) => {
  const clientOf = (turn: number): Client => createClient(cluster().urls[turn % cluster().urls.length] as string);
  const client = (): Client => clientOf(0);
  const streamAt = ({ address }: Replica, runId: string): string => `http://${address}/v1/runs/${runId}/stream`;

  const begin = async ({ url }: Gate, turn = 0): Promise<string> => {
    const body = { messages: [user('go')], config: { gate: url }, response_granularity: 'full' };
    const reply = await clientOf(turn).send('POST', '/v1/runs', body);
    return (reply.body.data as { run_id: string }).run_id;
  };

  const resultOf = async (runId: string): Promise<Result> =>
    (await client().send('GET', `/v1/runs/${runId}/wait`)).body.data;

  /** The worker that drives the run, as the run says. */
  const workerOf = async (runId: string): Promise<Replica> => {
    for await (const { text } of eventsOf(`${cluster().urls[0]}/v1/runs/${runId}/stream`)) {
      const pid = Number(/"data":"(\d+)"/.exec(text)?.[1]);
      const worker = cluster().executions.find((replica) => replica.pid() === pid);
      if (worker) return worker;
    }
    throw new Error('the run does not say where it is');
  };

  /** Ends the worker of a run in the middle of a node. @returns how long it took until another was in that node, in milliseconds. */
  const takenOver = async (t: ExecutionContext, end: (worker: Replica) => Promise<unknown>): Promise<number> => {
    await using gate = await openGate();
    const runId = await begin(gate);
    await gate.visited(1);
    const worker = await workerOf(runId);
    const begun = performance.now();
    const ended = end(worker);
    await gate.visited(2);
    const ms = performance.now() - begun;
    gate.open();
    const { meta, all_messages: messages } = await resultOf(runId);
    await ended;
    await worker.start();
    t.is(meta.status, 'completed');
    // One says where the first step ran, the other where the run went on.
    t.is(messages.length, 2);
    t.not(textOf(messages[0]), textOf(messages[1]));
    t.is(gate.visits(), 2);
    return ms;
  };

  for (const [title, end] of [
    ['is cut by the death of its gateway', (gateway: Replica) => gateway.kill()],
    ['is ended by its gateway, which was told to end', (gateway: Replica) => gateway.stop()],
  ] as const) {
    test.serial(`a stream that ${title} goes on at another one, without a gap or a double`, async (t) => {
      for (const [from, to] of [
        [0, 1],
        [1, 0],
      ] as const) {
        await using gate = await openGate();
        const { [from]: first, [to]: second } = cluster().gateways as [Replica, Replica];
        const runId = await begin(gate, to);
        const events: StreamEvent[] = [];
        const atGate = Promise.withResolvers<undefined>();
        const cut = followInto(events, streamAt(first, runId), ({ text }) => {
          if (text.includes('"node":"gate"')) atGate.resolve(undefined);
        });
        await Promise.all([atGate.promise, gate.visited(1)]);
        const ending = end(first);
        await cut;
        const seen = events.length;
        gate.open();
        const behind = { 'last-event-id': events.at(-1)?.id ?? '' };
        for await (const event of eventsOf(streamAt(second, runId), behind)) events.push(event);
        await ending;
        await first.start();
        const uncut = await (await fetch(streamAt(second, runId))).text();
        t.is(events.map(({ text }) => `${text}\n\n`).join(''), uncut);
        t.true(seen > 0 && seen < events.length);
        t.is(uncut.match(/^event: (on_chain_end|error)$/gm)?.length, 1);
      }
    });
  }

  test.serial('the run of a killed worker goes on at another within 10 seconds, with the shipped lease', async (t) => {
    const ms = await takenOver(t, (worker) => worker.kill());
    t.log(`${Math.round(ms)} ms`);
    t.true(ms < 10_000, `${ms} ms`);
  });

  test.serial('a worker that is told to end hands its run over within a second of its drain', async (t) => {
    const ms = await takenOver(t, (worker) => worker.stop());
    t.log(`${Math.round(ms - drainMs)} ms after ${drainMs} ms of drain`);
    t.true(ms > drainMs && ms < drainMs + 1000, `${ms} ms`);
  });

  test.serial('a run is stopped at once in the middle of a node, whoever is told and whoever drives it', async (t) => {
    const drivers = new Set<string>();
    let longestMs = 0;
    for (let turn = 0; drivers.size < cluster().executions.length && turn < 50; turn++) {
      await using gate = await openGate();
      const runId = await begin(gate, turn);
      await gate.visited(1);
      drivers.add((await workerOf(runId)).name);
      const { thread_id } = (await client().send('GET', `/v1/runs/${runId}`)).body.data as { thread_id: string };
      const begun = performance.now();
      const { body } = await clientOf(turn + 1).send('POST', '/v1/graph/stop', { thread_id });
      t.like(body.data, { success: true, run_id: runId, status: 'stopped' } as never);
      // Its signal fires: the node leaves the gate that never opens.
      await gate.left(1);
      longestMs = Math.max(longestMs, performance.now() - begun);
      t.is((await resultOf(runId)).meta.status, 'stopped');
    }
    t.is(drivers.size, cluster().executions.length);
    t.log(`${Math.round(longestMs)} ms at most`);
    t.true(longestMs < stoppedWithinMs, `${longestMs} ms`);
  });
});

interface Result {
  readonly meta: { readonly status: string };
  readonly all_messages: readonly Message[];
}

interface Message {
  readonly content: readonly { readonly text?: string }[];
}

const textOf = (message: Message | undefined): string => message?.content.map(({ text = '' }) => text).join('') ?? '';

interface StreamEvent {
  readonly id: string;
  readonly text: string;
}

/** Gathers the events of a stream until it ends, in whichever way: what a dead gateway cuts off is an error of the connection. */
async function followInto(events: StreamEvent[], url: string, onEvent: (event: StreamEvent) => void): Promise<void> {
  try {
    for await (const event of eventsOf(url)) {
      events.push(event);
      onEvent(event);
    }
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
}

/** The events of a stream with their ids, until it ends; leaving the loop closes it. */
async function* eventsOf(url: string, headers: Readonly<Record<string, string>> = {}): AsyncGenerator<StreamEvent> {
  const response = await fetch(url, { headers });
  if (!response.ok || !response.body) throw new Error(`the stream answered ${response.status}`);
  let rest = '';
  for await (const bytes of response.body.pipeThrough(new TextDecoderStream())) {
    const parts = (rest + bytes).split('\n\n');
    rest = parts.pop() ?? '';
    for (const text of parts) if (!text.startsWith(':')) yield { id: /^id: (.*)$/m.exec(text)?.[1] ?? '', text };
  }
}
