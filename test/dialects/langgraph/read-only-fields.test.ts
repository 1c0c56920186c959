import test from 'ava';
import { agentAt } from '../../servers/standalone.ts';
import { serveLangGraph } from './service.ts';

const service = serveLangGraph(test, {}, { approving: agentAt('approving') });

const refused = { message: /a field that callers only read/ };

test('a field that callers only read may come back as it was read, in an input and in an update, and no other way', async (t) => {
  const client = service.client();
  const { thread_id: id } = await client.threads.create();
  const start = (approved: boolean) => client.runs.create(id, 'approving', { input: { messages: [], approved } });
  await t.throwsAsync(start(true), refused);
  const { run_id: runId } = await start(false);
  await client.runs.join(id, runId);
  await client.threads.updateState(id, { values: { approved: false } });
  await t.throwsAsync(client.threads.updateState(id, { values: { approved: true } }), refused);
  await t.notThrowsAsync(start(false));
});
