import type { ExecutionContext, TestFn } from 'ava';
import { createClient, user, type Client } from '../../servers/client.ts';
import type { Cluster } from '../../servers/cluster.ts';
import { openGate } from '../../servers/gate.ts';
import { until } from '../../until.ts';
import { shareWithin } from '../../quantiles.ts';
import { freezeUnderLoad, frozenMs } from './frozen-load.ts';

/** No call may take longer, also on a machine that does other things too. */
const boundMs = 12_000;

export function frozenReplica(test: TestFn, cluster: () => Cluster): void {
  for (const kind of ['threads', 'executions', 'memories'] as const) {
    test.serial(
      `one of the ${kind} freezes: no call fails, nothing is lost, and nothing is done twice when it goes on`,
      (t) => freeze(t, cluster(), kind),
    );
  }

  test.serial('a run of a frozen worker goes on at another, and the first commits nothing when it goes on', (t) =>
    takeOver(t, cluster(), {}),
  );

  test.serial('a tool that is called once at most is not called again where its worker is frozen in it', (t) =>
    takeOver(t, cluster(), { isSingle: true }),
  );
}

/** Stops a replica while callers go on, lets it go on, and looks at what stands on record. */
async function freeze(t: ExecutionContext, cluster: Cluster, kind: keyof typeof frozenMs): Promise<void> {
  const { times: byCall, underWay, failures, accepted } = await freezeUnderLoad(cluster, kind);
  const all = [...byCall.values()].flat();
  t.log(
    `one of the ${kind} frozen for ${frozenMs[kind] / 1000} s: calls ${figures(all)}; under way then ${figures(underWay)}`,
  );
  for (const [name, times] of byCall) t.log(`  ${name}: ${figures(times)}`);
  t.deepEqual(failures, []);
  t.true(Math.max(...all, ...underWay) < boundMs);
  const client = createClient(cluster.urls[0] ?? '');
  for (const [thread, texts] of accepted) {
    const reply = await client.send('GET', `/v1/threads/${encodeURIComponent(thread)}/messages?limit=1000`);
    const { messages } = reply.body.data as { readonly messages: readonly Message[] };
    const users = messages.filter(({ role }) => role === 'user').map(({ content }) => content[0]?.text);
    t.deepEqual(users, texts, `lost: ${thread} has what was accepted, once and in order`);
  }
}

function figures(times: readonly number[]): string {
  const at = (share: number): string => `${Math.round(shareWithin(times, share))} ms`;
  return `${times.length}, p50 ${at(0.5)}, p99 ${at(0.99)}, max ${at(1)}`;
}

interface Message {
  readonly role: string;
  readonly content: readonly { readonly text?: string }[];
}

/** Freezes the worker of a run at the gate; another goes on with it, and what that wrote stands when the first goes on, too. */
async function takeOver(
  t: ExecutionContext,
  cluster: Cluster,
  { isSingle = false }: { isSingle?: boolean },
): Promise<void> {
  await using gate = await openGate();
  const { send } = createClient(cluster.urls[0] ?? '');
  const thread = isSingle ? 'held once' : 'held';
  const config = { thread_id: thread, gate: gate.url, once: isSingle };
  const body = { messages: [user('go')], config, response_granularity: 'partial' };
  const { run_id: runId } = (await send('POST', '/v1/runs', body)).body.data as { readonly run_id: string };
  await gate.visited(1);
  const messagesOf = async (): Promise<readonly Message[]> =>
    ((await send('GET', `/v1/threads/${thread}/messages`)).body.data as { readonly messages: readonly Message[] })
      .messages;
  const pid = Number((await messagesOf()).at(-1)?.content[0]?.text);
  process.kill(pid, 'SIGSTOP');
  const start = performance.now();
  // A call that is made once is answered as lost, and the run ends.
  if (!isSingle) await gate.visited(2).then(gate.open);
  const ended = (await send('GET', `/v1/runs/${runId}/wait`)).body.data as Result;
  const ms = performance.now() - start;
  t.log(`the run went on at another and ended ${Math.round(ms)} ms after its worker froze`);
  t.is(ended.meta.status, 'completed');
  const read = async (): Promise<unknown> => [
    await messagesOf(),
    (await send('GET', `/v1/threads/${thread}/state`)).body.data,
    await (await fetch(`${cluster.urls[1] ?? ''}/v1/runs/${runId}/stream`)).text(),
  ];
  const after = await read();
  gate.open();
  process.kill(pid, 'SIGCONT');
  // It finishes what it was in the middle of, is refused, and takes runs again.
  await until(async () => {
    const invoke = (): ReturnType<Client['send']> => send('POST', '/v1/graph/invoke', { messages: [user('on')] });
    const replies = await Promise.all([invoke(), invoke(), invoke()]);
    return replies.some(({ body: { data } }) => Number((data as Result).all_messages[0]?.content[0]?.text) === pid);
  });
  t.deepEqual(await read(), after);
  t.is((ended.state as { readonly steps: number }).steps, isSingle ? 2 : 3, 'no step counts twice');
  t.is(gate.visits(), isSingle ? 1 : 2);
  t.true(ms < boundMs);
}

interface Result {
  readonly meta: { readonly status: string };
  readonly all_messages: readonly Message[];
  readonly state: unknown;
}
