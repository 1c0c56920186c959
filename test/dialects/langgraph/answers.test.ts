import test from 'ava';
import { agentAt } from '../../servers/standalone.ts';
import { graphId, refused, serveLangGraph } from './service.ts';

const at = (name: string): string => agentAt('lang-graph-tasks').replace(/:graph$/, `:${name}`);
const service = serveLangGraph(test, {}, { narrow: at('narrow'), asking: at('asking') });

/** The graphs, with what makes each ask. */
const graphs = [
  ['narrow', { question: 'ask' }, 'secret'],
  [graphId, { messages: [{ role: 'user', content: 'please ask' }] }, 'answer'],
] as const;

const questionOf = async (threadId: string): Promise<string> => {
  const [task] = (await service.client().threads.getState(threadId)).tasks;
  return task?.interrupts[0]?.id ?? '';
};

const respond = async (threadId: string, interruptId: string, response: unknown): Promise<unknown> => {
  const params = { namespace: [], interrupt_id: interruptId, response };
  return (await service.send('POST', `/threads/${threadId}/commands`, { id: 1, method: 'input.respond', params })).body;
};

for (const [graph, input, field] of graphs)
  test(`an answer to a question that is not open is none to the one that is, of ${graph}`, async (t) => {
    const { threads, runs } = service.client();
    const { thread_id: id } = await threads.create();
    await runs.wait(id, graph, { input });
    const first = await questionOf(id);
    await runs.wait(id, graph, { command: { resume: { [first]: 'yes' } } });
    await runs.wait(id, graph, { input });
    const second = await questionOf(id);
    t.not(second, first);
    for (const resume of [{ [first]: 'stale' }, { [first]: 'stale', [second]: 'yes' }])
      await refused(t, runs.create(id, graph, { command: { resume } }), 422);
    for (const stale of [first, 'x', '0'.repeat(32)])
      t.like(await respond(id, stale, 'stale'), { type: 'error', error: 'no_such_interrupt' }, stale);
    t.is(await questionOf(id), second, 'it is still open');
    t.like(await respond(id, second, 'fresh'), { type: 'success' });
    for (const { run_id: run } of await runs.list(id)) await runs.join(id, run);
    t.is(((await threads.getState(id)).values as Record<string, unknown>)[field], 'fresh');
  });

test('an answer that is an object, and names no question, is what the node gets', async (t) => {
  const { threads, runs } = service.client();
  const { thread_id: id } = await threads.create();
  await runs.wait(id, 'narrow', { input: { question: 'ask' } });
  const answer = { ok: true, [`${'0'.repeat(31)}g`]: 1 };
  await runs.wait(id, 'narrow', { command: { resume: answer } });
  t.deepEqual(((await threads.getState(id)).values as Record<string, unknown>)['secret'], answer);
});

test('an answer that is sent several times at once answers one question, and not the next', async (t) => {
  const { threads, runs } = service.client();
  const { thread_id: id } = await threads.create();
  await runs.wait(id, 'asking', { input: {} });
  const first = await questionOf(id);
  const replies = (await Promise.all([1, 2, 3].map(() => respond(id, first, 'uno')))) as { readonly type: string }[];
  t.true(replies.some(({ type }) => type === 'success'));
  for (const { run_id: run } of await runs.list(id)) await runs.join(id, run);
  const second = await questionOf(id);
  t.not(second, first);
  t.not(second, '');
  await runs.wait(id, 'asking', { command: { resume: { [second]: 'due' } } });
  t.deepEqual(((await threads.getState(id)).values as Record<string, unknown>)['notes'], ['uno', 'due']);
});
