import { createHmac } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import test from 'ava';
import { createClient } from '../servers/client.ts';
import { makeWorkspace, startStandalone } from '../servers/standalone.ts';
import { until } from '../until.ts';

/** How often the process is killed: 40 times with `KILLS=40`. */
const kills = Number(process.env['KILLS'] ?? 3);
const eventsPerKill = 12;

interface Outcome {
  readonly run_id: string;
  readonly duplicate?: boolean;
}
interface Runs {
  readonly runs: readonly { readonly run_id: string; readonly status: string }[];
  readonly cursor?: string;
}

test('of events whose receiver is killed none that was accepted is lost, and one that is sent again starts no second run', async (t) => {
  await using workspace = await makeWorkspace('echo');
  const secret = 'a signing secret of the sender';
  const accepted = new Map<string, string>();
  const bodies: string[] = [];
  let path = '';

  const send = async (url: string, body: string): Promise<void> => {
    const signature = createHmac('sha256', secret).update(body).digest('hex');
    const headers = { 'x-hub-signature-256': `sha256=${signature}` };
    const reply = await fetch(`${url}${path}`, { method: 'POST', headers, body });
    const { run_id: runId } = (await reply.json()) as Outcome;
    if (reply.status !== 200) throw new Error(`${String(reply.status)} for ${body}`);
    const before = accepted.get(body);
    if (before !== undefined && before !== runId) t.fail(`${body} started ${before}, then ${runId}`);
    accepted.set(body, runId);
  };

  for (let round = 0; round < kills; round++) {
    const service = await startStandalone(workspace.env);
    if (path === '') {
      const made = await createClient(service.url).send('POST', '/v1/triggers', { format: 'github', secret });
      ({ path } = made.body.data);
    }
    const fresh = Array.from({ length: eventsPerKill }, (_, n) => JSON.stringify({ round, n }));
    bodies.push(...fresh);
    // Each is sent twice at once, as by a sender that is impatient.
    const answered = accepted.size;
    const sent = Promise.allSettled([...fresh, ...fresh].map((body) => send(service.url, body)));
    // From before the first is on record to when most are answered.
    await delay((round * 17) % 90);
    await until(() => accepted.size - answered >= (round * 5) % eventsPerKill);
    await service.stop('SIGKILL');
    await sent;
  }
  t.log(`${String(accepted.size)} of ${String(bodies.length)} were answered before a kill`);

  await using service = await startStandalone(workspace.env);
  // The sender sends all again: those that were not answered, and those that were.
  await Promise.all(bodies.map((body) => send(service.url, body)));
  const client = createClient(service.url);
  for (const runId of accepted.values()) t.is((await client.send('GET', `/v1/runs/${runId}/wait`)).status, 200);
  const { runs } = (await client.send('GET', '/v1/runs?limit=1000')).body.data as Runs;
  t.deepEqual(runs.map(({ run_id }) => run_id).toSorted(), [...accepted.values()].toSorted());
  t.is(accepted.size, bodies.length);
  t.true(runs.every(({ status }) => status === 'completed'));
});
