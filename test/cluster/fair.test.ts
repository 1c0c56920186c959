import test from 'ava';
import { createClient, user, type Client, type Sent } from '../servers/client.ts';
import { withCluster } from '../servers/cluster-suite.ts';
import { openGate } from '../servers/gate.ts';
import { inSeconds, makeToken } from '../servers/tokens.ts';
import { byLoad } from '../by-load.ts';

const secret = 's'.repeat(32);
const as = (owner: string): Sent => ({
  authorization: `Bearer ${makeToken('HS256', secret, { claims: { exp: inSeconds(3600), user_id: owner } })}`,
});

const queued = 1000;
const atOnce = 8;
/** Of the noisy owner's runs, how many may begin between another's run and its end: far fewer than wait. */
const bound = 100;

const env = { JWT_SECRET_KEY: secret, RATE_LIMIT_REQUESTS: '0', RUN_CONCURRENCY: '4' };

withCluster(test, { agent: 'gated', executions: 2, env, service: { auth: 'jwt' } }, (cluster) => {
  test('behind a thousand runs of one owner, another owner waits for a few of them only', async (t) => {
    t.timeout(byLoad(240_000));
    await using noise = await openGate();
    await using quiet = await openGate();
    quiet.open();
    const clients = cluster().urls.map((url) => createClient(url));
    const of = (turn: number): Client => clients[turn % clients.length] as Client;
    const begin = async (turn: number, owner: string, gate: string): Promise<{ status: number; runId: string }> => {
      const body = { messages: [user('go')], config: { gate } };
      const { status, body: reply } = await of(turn).send('POST', '/v1/runs', body, as(owner));
      return { status, runId: (reply.data as { run_id: string }).run_id };
    };
    const next = Array.from({ length: queued }, (_, index) => index).values();
    await Promise.all(
      Array.from({ length: atOnce }, async () => {
        for (const turn of next) t.is((await begin(turn, 'noisy', noise.url)).status, 202);
      }),
    );
    await noise.visited(2 * 4);
    const { runId } = await begin(0, 'quiet', quiet.url);
    const before = noise.visits();
    noise.open();
    const begun = performance.now();
    t.is((await of(1).send('GET', `/v1/runs/${runId}/wait`, undefined, as('quiet'))).status, 200);
    const passed = noise.visits() - before;
    t.log(
      `${passed} runs of the noisy owner began before the other's ended, ${Math.round(performance.now() - begun)} ms`,
    );
    t.true(passed <= bound, `${passed}`);
  });
});
