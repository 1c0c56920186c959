import { fileURLToPath } from 'node:url';
import test from 'ava';
import { createClient, user, type Client } from '../servers/client.ts';
import { testedAgent } from '../servers/standalone.ts';
import { until } from '../until.ts';
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
async function makeApproved(thread_id: string, more: object = {}, waitsAt?: string): Promise<string> {
  const [ada, mo] = [as('ada', ''), as('mo', 'manager')];
  await ada.send('POST', '/v1/graph/invoke', { messages: [user('pay')], config: { thread_id }, ...more });
  const { questions } = (await mo.send('GET', '/v1/questions')).body.data as {
    readonly questions: readonly { readonly question_id: string; readonly thread_id: string }[];
  };
  const { question_id: id = '' } = questions.find((question) => question.thread_id === thread_id) ?? {};
  await mo.send('POST', `/v1/questions/${id}/answer`, { answer: true });
  await until(async () => !(await isBefore(thread_id, waitsAt)));
  const checkpoints = await checkpointsOf(thread_id);
  return checkpoints.find(({ next }) => next.includes('pay'))?.checkpoint_id ?? '';
}

async function checkpointsOf(thread: string): Promise<readonly Checkpoint[]> {
  const { body } = await as('ada', '').send('GET', `/v1/threads/${thread}/checkpoints`);
  return (body.data as { readonly checkpoints: readonly Checkpoint[] }).checkpoints;
}

/** Whether a run of the thread is under way, and has not come to the node that waits for its end. */
async function isBefore(thread: string, node: string | undefined): Promise<boolean> {
  const { body } = await as('ada', '').send('GET', `/v1/threads/${thread}`);
  const { status } = body.data as { readonly status: string };
  if (status !== 'running' && status !== 'queued') return false;
  return node === undefined || !(await checkpointsOf(thread)).some(({ next }) => next.includes(node));
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

/** Where the thread comes to rest behind the answer of the manager, and what lets it go on from there. */
const rests = {
  'a question of the owner': { given: { initial_state: { way: 'ask' } }, resume: 'DE1' },
  'a question of the owner in the same step': { given: { initial_state: { way: 'beside' } }, resume: 'now' },
  'a breakpoint of the owner': { given: { interrupt_before: ['pay'] }, resume: null },
  'a failure': { given: { initial_state: { way: 'fail' } } },
  'a stop': { given: { initial_state: { way: 'wait' } }, waitsAt: 'rest' },
};

for (const [index, [name, rest]] of Object.entries(rests).entries())
  test(`what others have approved is done once: behind ${name} the thread goes on, and no fork of it and no copy`, async (t) => {
    const thread = `6f1c2a52-1b8e-4b0e-9a54-0c7d6f8e1b0${String(index)}`;
    const ada = as('ada', '');
    await makeApproved(thread, rest.given, 'waitsAt' in rest ? rest.waitsAt : undefined);
    const goOnIn = async (thread_id: string): Promise<void> => {
      if ('resume' in rest)
        await ada.send('POST', '/v1/graph/invoke', { messages: [], resume: rest.resume, config: { thread_id } });
      await goOn(thread_id);
    };
    t.is(await paymentsOf(thread), 0);
    if ('waitsAt' in rest) await ada.send('POST', '/v1/graph/stop', { thread_id: thread });
    const checkpoints = await checkpointsOf(thread);
    const forks = [{}, ...checkpoints.map(({ checkpoint_id }) => ({ checkpoint_id }))];
    for (const fork of forks) {
      const forked = await ada.send('POST', `/v1/threads/${thread}/fork`, fork);
      const { thread_id } = forked.body.data as { thread_id: string };
      await goOnIn(thread_id);
      t.is(await paymentsOf(thread_id), 0);
    }
    const copied = await ada.send('POST', `/langgraph/threads/${thread}/copy`, {});
    const { thread_id: copy } = copied.body as unknown as { thread_id: string };
    await goOnIn(copy);
    t.is(await paymentsOf(copy), 0);
    await goOnIn(thread);
    t.is(await paymentsOf(thread), 1);
    for (const { checkpoint_id } of checkpoints) {
      await ada.send('POST', `/v1/threads/${thread}/restore`, { checkpoint_id });
      const payments = await paymentsOf(thread);
      await goOnIn(thread);
      t.is(await paymentsOf(thread), payments);
      await goOn(thread, { checkpoint_id });
      t.is(await paymentsOf(thread), payments);
    }
  });

for (const [index, name] of (['a failure', 'a stop'] as const).entries())
  test(`what others have approved is done with what they were asked about: behind ${name} a run goes on with no context of its own`, async (t) => {
    const thread = `6f1c2a52-1b8e-4b0e-9a54-0c7d6f8e1d0${String(index)}`;
    const rest = rests[name];
    await makeApproved(thread, { ...rest.given, context: {} }, 'waitsAt' in rest ? rest.waitsAt : undefined);
    if ('waitsAt' in rest) await as('ada', '').send('POST', '/v1/graph/stop', { thread_id: thread });
    await goOn(thread, { context: { to: 'another account' } });
    t.is(await paymentsOf(thread), 1);
  });

test('the owner answers what is to him beside a question of others, with any config', async (t) => {
  const ada = as('ada', '');
  const config = { thread_id: '6f1c2a52-1b8e-4b0e-9a54-0c7d6f8e1c01', removes: ['all'] };
  const asked = await ada.send('POST', '/v1/graph/invoke', {
    ...{ messages: [user('pay')], initial_state: { way: 'beside' }, config },
  });
  const { meta } = asked.body.data as { meta: { interrupts: readonly { id: string; to?: unknown }[] } };
  const own = meta.interrupts.find(({ to }) => to === undefined);
  const answered = await ada.send('POST', '/v1/graph/invoke', { resume: { [own?.id ?? '']: 'now' }, config });
  t.is(answered.status, 200, JSON.stringify(answered.body));
});
