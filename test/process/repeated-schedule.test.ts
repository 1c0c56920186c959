import test from 'ava';
import { agentAt, makeWorkspace, startStandalone } from '../servers/standalone.ts';

interface Answer {
  readonly status: number;
  readonly data: Readonly<Record<string, unknown>>;
}

test('a schedule and a run that starts later are found by their keys, also where their webhook is refused by now', async (t) => {
  await using workspace = await makeWorkspace(null, { agent: agentAt('obedient') });
  const run = { messages: [{ role: 'user', content: 'hello' }], webhook: { url: 'https://hooks.example.com/end' } };
  const schedule = { run, cron: '0 9 * * *' };
  const later = { ...run, start_at: new Date(Date.now() + 3_600_000).toISOString() };
  const serve = (hosts: string) =>
    startStandalone({ ...workspace.env, HOST: '127.0.0.1', LOG_LEVEL: 'warn', WEBHOOK_HOSTS: hosts });
  const send = async (url: string, path: string, body: object, key: string): Promise<Answer> => {
    const headers = { 'content-type': 'application/json', 'idempotency-key': key };
    const reply = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
    const { data } = (await reply.json()) as Pick<Answer, 'data'>;
    return { status: reply.status, data };
  };
  const made: Answer[] = [];
  {
    await using service = await serve('hooks.example.com');
    made.push(await send(service.url, '/v1/schedules', schedule, 'a-schedule'));
    made.push(await send(service.url, '/v1/runs', later, 'a-run'));
  }
  await using service = await serve('other.example.com');
  t.deepEqual(await send(service.url, '/v1/schedules', schedule, 'a-schedule'), made[0]);
  t.deepEqual(await send(service.url, '/v1/runs', later, 'a-run'), made[1]);
  t.is((await send(service.url, '/v1/schedules', schedule, 'another')).status, 422);
  t.is((await send(service.url, '/v1/runs', later, 'one more')).status, 422);
});
