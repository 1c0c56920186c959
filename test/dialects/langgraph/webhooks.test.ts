import test from 'ava';
import { graphId, refused, serveLangGraph } from './service.ts';

const service = serveLangGraph(test);
const input = { messages: [{ role: 'user', content: 'hello' }] };
const inside = [
  'http://127.0.0.1:9/x',
  'http://localhost/x',
  'https://10.1.2.3/x',
  'http://[::1]/',
  'http://169.254.169.254/',
];

test('a webhook that leads to the inside is refused, whatever asks for it', async (t) => {
  const { threads, runs, crons } = service.client();
  const { thread_id: id } = await threads.create({ graphId });
  const text = /\bwebhook\.url: cannot be sent to: the address is not one of the public internet$/;
  for (const webhook of inside) {
    t.regex(await refused(t, runs.create(id, graphId, { input, webhook }), 422), text);
    t.regex(await refused(t, runs.wait(null, graphId, { input, webhook }), 422), text);
    t.regex(await refused(t, runs.create(id, graphId, { input, webhook, afterSeconds: 60 }), 422), text);
    t.regex(await refused(t, crons.create(graphId, { input, webhook, schedule: '0 9 * * *' }), 422), text);
  }
  t.deepEqual(await runs.list(id), []);
  t.is((await threads.get(id)).status, 'idle');
  // What a name leads to is known when it is sent.
  await runs.wait(id, graphId, { input, webhook: 'https://hooks.invalid/x' });
});
