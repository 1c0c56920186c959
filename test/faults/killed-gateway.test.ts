import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import test from 'ava';
import { createClient, user } from '../servers/client.ts';
import { openCluster } from '../servers/cluster.ts';
import { withFaultsOfCluster } from './suite.ts';

const streams = 60;
/** Places are free within 5 s of a death; the rest is the machine's. In milliseconds. */
const boundMs = 8000;

interface Following {
  readonly status: number;
  readonly reader?: ReadableStreamDefaultReader<Uint8Array>;
}

async function follow(url: string, runId: string): Promise<Following> {
  const reply = await fetch(`${url}/v1/runs/${runId}/stream`);
  const reader = reply.status === 200 ? (reply.body?.getReader() as Following['reader']) : undefined;
  if (!reader) await reply.body?.cancel();
  return { status: reply.status, ...(reader && { reader }) };
}

/** Reads a stream to its end; gives whether its terminal event came. */
async function readToEnd({ reader }: Following): Promise<boolean> {
  let text = '';
  for (;;) {
    const part = await reader?.read();
    if (!part || part.done) return text.includes('event: on_chain_end');
    text += Buffer.from(part.value).toString();
  }
}

withFaultsOfCluster(test, () => {
  test('a gateway is killed under as many streams as its principal may have, and all of them go on at the other', async (t) => {
    t.timeout(120_000);
    let open = (): void => undefined;
    const opened = new Promise<void>((resolve) => (open = resolve));
    const gate = createServer((_request, response) => void opened.then(() => response.end()));
    gate.listen(0, '127.0.0.1');
    await once(gate, 'listening');
    t.teardown(() => gate.close());
    const { port } = gate.address() as AddressInfo;

    const env = { MAX_STREAMS_PER_PRINCIPAL: String(streams) };
    await using cluster = await openCluster({ agent: 'gated', threads: 1, executions: 1, env });
    const [dying = '', other = ''] = cluster.urls;
    const config = { gate: `http://127.0.0.1:${String(port)}` };
    const reply = await createClient(other).send('POST', '/v1/runs', { messages: [user('go')], config });
    const { run_id: runId } = reply.body.data as { readonly run_id: string };

    const before = await Promise.all(Array.from({ length: streams }, () => follow(dying, runId)));
    t.deepEqual(new Set(before.map(({ status }) => status)), new Set([200]));
    t.is((await follow(other, runId)).status, 429, 'the principal has as many as it may');
    const cut = Promise.allSettled(before.map(readToEnd));

    await cluster.gateways[0]?.kill();
    const died = performance.now();
    await cut;
    let refused = 0;
    const resumed = await Promise.all(
      before.map(async () => {
        for (;;) {
          const following = await follow(other, runId);
          if (following.status === 200 || performance.now() - died > boundMs) return following;
          refused++;
          await new Promise((resolve) => setTimeout(resolve, 100));
        }
      }),
    );
    const ms = performance.now() - died;
    t.log(`all ${String(streams)} follow ${ms.toFixed(0)} ms after the death, refused ${String(refused)} times before`);
    t.deepEqual(new Set(resumed.map(({ status }) => status)), new Set([200]));
    t.is((await follow(other, runId)).status, 429, 'and none of them has lost its place');

    open();
    t.deepEqual(new Set(await Promise.all(resumed.map(readToEnd))), new Set([true]));
  });
});
