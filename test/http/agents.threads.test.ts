import test, { type ExecutionContext } from 'ava';
import { user } from '../servers/client.ts';
import { codeOf, replyText, serve } from './service.ts';
import { twoAgents } from './two-agents.ts';

const { send, refused, data } = serve(test, null, {}, twoAgents);

interface Turn {
  readonly messages: readonly { readonly content: readonly { readonly text?: string }[] }[];
  readonly meta: { readonly run_id: string; readonly status: string };
}
interface Thread {
  readonly thread_id: string;
  readonly agent: string;
}
interface State {
  readonly agent?: string;
  readonly state: Readonly<Record<string, unknown>>;
}
interface Page {
  readonly runs: readonly { readonly run_id: string; readonly thread_id: string; readonly agent: string }[];
  readonly has_more: boolean;
  readonly cursor?: string;
}

const invoke = async (t: ExecutionContext, config: object, more: object = {}): Promise<Turn & { text: string }> => {
  const body = { messages: [user('hello')], config, ...more };
  const result: Turn = await data(t, 'invokeGraph', send('POST', '/v1/graph/invoke', body));
  return { ...result, text: replyText(result.messages.at(-1)) };
};
const threadOf = async (t: ExecutionContext, id: string): Promise<Thread> =>
  data(t, 'getThread', send('GET', `/v1/threads/${id}`));
const stateOf = async (t: ExecutionContext, id: string): Promise<State> =>
  data(t, 'getState', send('GET', `/v1/threads/${id}/state`));
const runsOf = async (t: ExecutionContext, query: string): Promise<Page> =>
  data(t, 'listOwnRuns', send('GET', `/v1/runs?${query}`));

test('threads, states and runs say which agent they are of, one by one and in lists', async (t) => {
  for (const agent of ['office', 'support']) {
    const id = `said-${agent}`;
    const { meta } = await invoke(t, { thread_id: id, agent });
    t.is((await threadOf(t, id)).agent, agent);
    t.is((await stateOf(t, id)).agent, agent);
    t.like(await data(t, 'getRun', send('GET', `/v1/runs/${meta.run_id}`)), { agent });
    const { runs }: Page = await data(t, 'listRuns', send('GET', `/v1/threads/${id}/runs`));
    t.deepEqual(
      runs.map((run) => run.agent),
      [agent],
    );
    const { threads }: { threads: Thread[] } = await data(t, 'listThreads', send('GET', `/v1/threads?search=${id}`));
    t.like(threads, [{ thread_id: id, agent }]);
    t.like(await data(t, 'fixThread', send('POST', '/v1/graph/fix', { thread_id: id })), { agent });
  }
});

test('the state of a thread has the fields of its agent, with their defaults', async (t) => {
  await invoke(t, { thread_id: 'fields-office', agent: 'office' });
  await invoke(t, { thread_id: 'fields-support', agent: 'support' });
  const [office, support] = [await stateOf(t, 'fields-office'), await stateOf(t, 'fields-support')];
  t.deepEqual(office.state['notes'], ['blank']);
  t.false('rounds' in office.state);
  t.like(support.state, { notes: [], rounds: 1 });
});

test('a write of state passes the reducers of the agent of the thread', async (t) => {
  for (const [agent, notes] of [
    ['office', ['b']],
    ['support', ['a', 'b']],
  ] as const) {
    const id = `written-${agent}`;
    await invoke(t, { thread_id: id, agent });
    const path = `/v1/threads/${id}/state`;
    await send('POST', path, { config: {}, state: { notes: ['a'] } });
    const written: State = await data(t, 'updateState', send('POST', path, { config: {}, state: { notes: ['b'] } }));
    t.deepEqual([written.agent, written.state['notes']], [agent, notes]);
    t.deepEqual(await stateOf(t, id), written);
  }
  const rounds = send('POST', '/v1/threads/written-office/state', { config: {}, state: { rounds: 1 } });
  t.deepEqual(await refused(t, rounds, 422, codeOf(422)), [['body', 'state', 'rounds']]);
});

test('a fork belongs to the agent of the thread that it was made from', async (t) => {
  await invoke(t, { thread_id: 'forked', agent: 'office' });
  const path = '/v1/threads/forked/checkpoints';
  const { checkpoints }: { checkpoints: { checkpoint_id: string }[] } = await data(
    t,
    'listCheckpoints',
    send('GET', path),
  );
  const checkpointId = checkpoints[0]?.checkpoint_id ?? '';
  const { state }: State = await data(t, 'getCheckpoint', send('GET', `${path}/${checkpointId}`));
  t.deepEqual(state['notes'], ['blank'], 'a checkpoint has the defaults of the agent, too');
  const fork: Thread = await data(
    t,
    'forkThread',
    send('POST', '/v1/threads/forked/fork', { checkpoint_id: checkpointId }),
  );
  t.is(fork.agent, 'office');
  const other = { messages: [user('x')], config: { thread_id: fork.thread_id, agent: 'support' } };
  await refused(t, send('POST', '/v1/graph/invoke', other), 409, codeOf(409));
  t.is((await stateOf(t, fork.thread_id)).agent, 'office');
  t.is((await invoke(t, { thread_id: fork.thread_id })).text, 'the clerk wrote hello');
});

test('messages make no thread, so that no thread is without an agent', async (t) => {
  const reply = send('POST', '/v1/threads/noted/messages', { messages: [user('before')] });
  await refused(t, reply, 404, codeOf(404));
  await refused(t, send('GET', '/v1/threads/noted'), 404, codeOf(404));
});

test('a question of the second agent is answered without naming it', async (t) => {
  const asked = await invoke(t, { thread_id: 'asked', agent: 'office' }, { messages: [user('ask')] });
  t.is(asked.meta.status, 'interrupted');
  const answered = await invoke(t, { thread_id: 'asked' }, { messages: [], resume: 'yes' });
  t.deepEqual([answered.meta.status, answered.text], ['completed', 'the clerk heard yes']);
});

test('so is a call of a remote tool', async (t) => {
  const tools = [{ name: 'look', parameters: { type: 'object' } }];
  const config = { thread_id: 'called', agent: 'office' };
  const called = await invoke(t, config, { messages: [user('call look')], tools });
  t.is(called.meta.status, 'interrupted');
  const result = { type: 'tool_result', call_id: 'call-1', output: 'seen', status: 'completed', is_error: false };
  const messages = [{ role: 'tool', content: [result] }];
  const other = send('POST', '/v1/graph/invoke', { messages, config: { thread_id: 'called', agent: 'support' } });
  await refused(t, other, 409, codeOf(409));
  const answered = await invoke(t, { thread_id: 'called' }, { messages });
  t.deepEqual([answered.meta.status, answered.text], ['completed', 'the clerk thanks']);
});

test('runs are listed by agent, page by page, and a cursor belongs to the list that gave it', async (t) => {
  const ids = { office: [] as string[], support: [] as string[] };
  for (const agent of ['office', 'support', 'office', 'support', 'office'] as const)
    ids[agent].unshift((await invoke(t, { agent })).meta.run_id);
  for (const agent of ['office', 'support'] as const) {
    const seen: string[] = [];
    let cursor = '';
    for (let more = true; more;) {
      const page = await runsOf(t, `agent=${agent}&status=completed&limit=2${cursor}`);
      t.true(page.runs.every((run) => run.agent === agent));
      seen.push(...page.runs.map((run) => run.run_id));
      more = page.has_more;
      if (more) cursor = `&cursor=${page.cursor ?? ''}`;
    }
    t.is(new Set(seen).size, seen.length);
    t.deepEqual(
      seen.filter((id) => ids[agent].includes(id)),
      ids[agent],
    );
  }
  const { cursor = '' } = await runsOf(t, 'agent=office&limit=1');
  for (const other of ['agent=support&', '', 'agent=office&status=completed&']) {
    const reply = send('GET', `/v1/runs?${other}limit=1&cursor=${cursor}`);
    t.deepEqual(await refused(t, reply, 422, codeOf(422)), [['query', 'cursor']], other);
  }
  const { cursor: ofAll = '' } = await runsOf(t, 'limit=1');
  const reply = send('GET', `/v1/runs?agent=office&limit=1&cursor=${ofAll}`);
  t.deepEqual(await refused(t, reply, 422, codeOf(422)), [['query', 'cursor']]);
  t.deepEqual(await runsOf(t, 'agent=sales'), { runs: [], has_more: false });
  t.deepEqual(await refused(t, send('GET', '/v1/runs?agent=Z_'), 422, codeOf(422)), [['query', 'agent']]);
  t.deepEqual((await runsOf(t, 'agent=office&status=failed')).runs, []);
});
