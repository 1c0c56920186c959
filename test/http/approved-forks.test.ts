import { fileURLToPath } from 'node:url';
import test from 'ava';
import { createClient, user, type Client } from '../servers/client.ts';
import { testedAgent } from '../servers/standalone.ts';
import { serve } from './service.ts';

const module = fileURLToPath(new URL('../backends/roles.ts', import.meta.url));
const service = serve(
  test,
  'approving',
  { HOST: '127.0.0.1' },
  {
    auth: { method: 'custom', path: `${module}:Named` },
    access: { roles: { manager: { is: 'approver' } } },
  },
);

const as = (name: string, role: string): Client => createClient(service.url(), { 'x-user': name, 'x-roles': role });

interface Checkpoint {
  readonly checkpoint_id: string;
  readonly next: readonly string[];
}

/** A thread of ada's whose payment a manager has approved, and the checkpoint between the two. */
async function makeApproved(thread_id: string): Promise<string> {
  const [ada, mo] = [as('ada', ''), as('mo', 'manager')];
  await ada.send('POST', '/v1/graph/invoke', { messages: [user('pay')], config: { thread_id } });
  const { questions } = (await mo.send('GET', '/v1/questions')).body.data as {
    readonly questions: readonly { readonly question_id: string; readonly thread_id: string }[];
  };
  const { question_id: id = '' } = questions.find((question) => question.thread_id === thread_id) ?? {};
  const answered = await mo.send('POST', `/v1/questions/${id}/answer`, { answer: true });
  const { run_id: runId } = answered.body.data as { run_id?: string };
  await ada.send('GET', `/v1/threads/${thread_id}`);
  const { run_id: newest } = (await ada.send('GET', `/v1/threads/${thread_id}`)).body.data as { run_id: string };
  await ada.send('GET', `/v1/runs/${runId ?? newest}/wait`);
  const { checkpoints } = (await ada.send('GET', `/v1/threads/${thread_id}/checkpoints`)).body.data as {
    readonly checkpoints: readonly Checkpoint[];
  };
  return checkpoints.find(({ next }) => next.includes('pay'))?.checkpoint_id ?? '';
}

const paymentsOf = async (thread: string): Promise<number> => {
  const { messages } = (await as('ada', '').send('GET', `/v1/threads/${thread}/messages`)).body.data as {
    readonly messages: readonly { readonly content: readonly { readonly text?: string }[] }[];
  };
  return messages.filter(({ content }) => content.some(({ text }) => text === 'paid')).length;
};

/** Goes on where a thread stands, as LangGraph's clients do. */
const goOn = (thread: string, more: object = {}) =>
  as('ada', '').send('POST', `/langgraph/threads/${thread}/runs/wait`, {
    ...{ assistant_id: testedAgent, input: null },
    ...more,
  });

test('what others have approved is done once: a fork behind their answer goes on with nothing, and asks again', async (t) => {
  const ada = as('ada', '');
  const checkpoint_id = await makeApproved('6f1c2a52-1b8e-4b0e-9a54-0c7d6f8e1a01');
  t.not(checkpoint_id, '');
  const forked = await ada.send('POST', '/v1/threads/6f1c2a52-1b8e-4b0e-9a54-0c7d6f8e1a01/fork', { checkpoint_id });
  const { thread_id: fork } = forked.body.data as { thread_id: string };
  t.is(await paymentsOf('6f1c2a52-1b8e-4b0e-9a54-0c7d6f8e1a01'), 1);
  await goOn(fork);
  t.is(await paymentsOf(fork), 0);
  const again = await ada.send('POST', '/v1/graph/invoke', { messages: [user('pay')], config: { thread_id: fork } });
  t.is((again.body.data as { meta: { status: string } }).meta.status, 'interrupted');
});

test('what others have approved is done once: a thread that is brought back behind their answer goes on with nothing', async (t) => {
  const [thread, restored] = ['6f1c2a52-1b8e-4b0e-9a54-0c7d6f8e1a02', '6f1c2a52-1b8e-4b0e-9a54-0c7d6f8e1a03'];
  const checkpoint_id = await makeApproved(thread);
  await goOn(thread, { checkpoint_id });
  t.true((await paymentsOf(thread)) < 2);
  const before = await makeApproved(restored);
  const ada = as('ada', '');
  t.is((await ada.send('POST', `/v1/threads/${restored}/restore`, { checkpoint_id: before })).status, 200);
  await goOn(restored);
  t.is(await paymentsOf(restored), 0);
});
