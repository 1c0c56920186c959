import type { ServerResponse } from 'node:http';
import type { ExecutionContext } from 'ava';
import { createClient, user } from '../servers/client.ts';
import { until } from '../until.ts';
import { openReceiver } from './webhook-receiver.ts';

/** What the processes of a campaign are told: of the inside one address alone may be reached. */
export const campaignEnv = { WEBHOOK_NETWORKS: '127.0.0.1' };

/** Runs whose ends are sent to receivers of every kind, while processes die. */
interface Campaign extends AsyncDisposable {
  /** Registers the webhook of the owner. */
  readonly register: (url: string) => Promise<void>;
  /** Starts runs. Those whose request is not answered count for nothing. */
  readonly begin: (url: string, count: number) => Promise<void>;
  /** Requests that the receivers got. */
  readonly requests: () => number;
  /** Waits until all is sent that may be sent, and checks what came. */
  readonly check: (t: ExecutionContext, url: string) => Promise<void>;
}

/** Treats the first request of each delivery so, and takes all later ones. */
function atFirst(treat: (response: ServerResponse) => void) {
  const seen = new Set<string>();
  return ({ id }: { readonly id: string }, response: ServerResponse): void => {
    if (seen.has(id)) response.writeHead(204).end();
    else treat(response);
    seen.add(id);
  };
}

/** How long a delivery may take that failed and whose attempts died with their process: leases, waits after failures, and what two busy cores take. */
const sentWithinMs = 150_000;

export async function openCampaign(): Promise<Campaign> {
  await using opening = new AsyncDisposableStack();
  const inside = opening.use(await openReceiver(undefined, '127.0.0.2'));
  const redirect = (response: ServerResponse): void => void response.writeHead(307, { location: inside.url }).end();
  const treatments: readonly ((response: ServerResponse) => void)[] = [
    (response) => response.writeHead(200).end(),
    (response) => response.writeHead(500).end(),
    (response) => response.destroy(),
    () => undefined,
    redirect,
  ];
  const receivers: Awaited<ReturnType<typeof openReceiver>>[] = [];
  for (const treat of treatments) receivers.push(opening.use(await openReceiver(atFirst(treat))));
  let turn = 0;
  const all = opening.use(
    await openReceiver(atFirst((response) => response.writeHead(turn++ % 3 === 0 ? 503 : 204).end())),
  );
  /** The runs that were accepted, and where their ends go. */
  const accepted = new Map<string, (typeof receivers)[number]>();
  const requests = (): number => [all, ...receivers].reduce((sum, { got }) => sum + got.length, 0);
  const opened = opening.move();

  const isSent = async (url: string): Promise<boolean> => {
    const { body } = await createClient(url).send('GET', '/v1/deliveries?limit=100');
    const { deliveries } = body.data as { readonly deliveries: readonly unknown[] };
    return deliveries.length === 0;
  };

  return {
    register: async (url) => {
      const { status, body } = await createClient(url).send('POST', '/v1/webhooks', { url: all.url });
      if (status !== 200) throw new Error(JSON.stringify(body));
    },
    begin: async (url, count) => {
      const start = async (n: number): Promise<void> => {
        const target = receivers[n % receivers.length] ?? all;
        const run = { messages: [user('hello')], webhook: { url: target.url } };
        const { status, body } = await createClient(url).send('POST', '/v1/runs', run);
        if (status === 202) accepted.set((body.data as { readonly run_id: string }).run_id, target);
      };
      await Promise.allSettled(Array.from({ length: count }, async (_, n) => start(n)));
    },
    requests,
    check: async (t, url) => {
      const idsOf = ({ got }: typeof all, runId: string): readonly string[] => [
        ...new Set(got.filter(({ body }) => body.includes(runId)).map(({ id }) => id)),
      ];
      const targetsOf = (target: typeof all) => [all, target];
      const isThere = ([runId, target]: readonly [string, typeof all]): boolean =>
        targetsOf(target).every((each) => idsOf(each, runId).length > 0);
      await until(async () => [...accepted].every(isThere) && (await isSent(url)), { timeoutMs: sentWithinMs });
      for (const [runId, target] of accepted)
        for (const each of targetsOf(target)) t.is(idsOf(each, runId).length, 1, 'one id for one end and one receiver');
      const bodies = new Map<string, Set<string>>();
      for (const { id, body } of [all, ...receivers].flatMap(({ got }) => got))
        bodies.set(id, (bodies.get(id) ?? new Set()).add(body));
      for (const [id, each] of bodies) t.is(each.size, 1, `the bytes of ${id}`);
      t.deepEqual(inside.got, [], 'nothing goes to the inside, by a redirect neither');
      t.log(`${String(accepted.size)} runs, ${String(bodies.size)} deliveries, ${String(requests())} requests`);
    },
    [Symbol.asyncDispose]: async () => opened.disposeAsync(),
  };
}
