import test, { type ExecutionContext } from 'ava';
import { user } from '../servers/client.ts';
import { until } from '../until.ts';
import { replyText, serve } from './service.ts';

const service = serve(test, 'deadlines');

interface Question {
  readonly id: string;
  readonly deadline?: string;
  readonly default?: unknown;
}

interface Result {
  readonly messages: readonly { readonly content: readonly { readonly text?: string }[] }[];
  readonly meta: {
    readonly run_id: string;
    readonly status: string;
    readonly resumes?: string;
    readonly interrupts?: readonly Question[];
  };
}

interface Run {
  readonly run_id: string;
  readonly status: string;
  readonly resumes?: string;
  readonly deadline?: string;
}

const hour = 3_600_000;

const invoke = async (t: ExecutionContext, thread: string, body: object): Promise<Result> =>
  await service.data(
    t,
    'invokeGraph',
    service.send('POST', '/v1/graph/invoke', { messages: [], config: { thread_id: thread }, ...body }),
  );

const askedOn = (t: ExecutionContext, thread: string, asking: object): Promise<Result> =>
  invoke(t, thread, { messages: [user(JSON.stringify(asking))] });

const runsOf = async (thread: string): Promise<readonly Run[]> =>
  ((await service.send('GET', `/v1/threads/${thread}/runs`)).body.data as { readonly runs: readonly Run[] }).runs;

const runOf = async (runId: string): Promise<Run> => (await service.send('GET', `/v1/runs/${runId}`)).body.data;

/** Resolves with the thread's runs as soon as there are so many. */
const untilRuns = async (thread: string, count: number): Promise<readonly Run[]> => {
  let runs: readonly Run[] = [];
  await until(async () => (runs = await runsOf(thread)).length === count);
  return runs;
};

const resultOf = async (runId: string): Promise<Result> =>
  (await service.send('GET', `/v1/runs/${runId}/wait`)).body.data;

test('a question whose deadline passes is answered with its default, and a late answer is refused with that reason', async (t) => {
  const { meta } = await askedOn(t, 'default', { deadline: 300, default: { send: false } });
  const [question] = meta.interrupts ?? [];
  t.like(question, { default: { send: false } });
  const { deadline = '', id = '' } = question ?? {};
  t.true(Math.abs(Date.parse(deadline) - Date.now()) < 60_000);
  const [next] = await untilRuns('default', 2);
  const result = await resultOf(next?.run_id ?? '');
  t.is(result.meta.resumes, meta.run_id);
  t.deepEqual(result.messages.map(replyText), ['answer: {"send":false}']);
  t.true(Date.now() >= Date.parse(deadline));
  t.is((await runOf(meta.run_id)).deadline, undefined);
  for (const resume of [{ [id]: true }, true]) {
    const late = await service.send('POST', '/v1/graph/invoke', {
      messages: [],
      config: { thread_id: 'default' },
      resume,
    });
    t.is(late.status, 409);
    const { message } = late.body.error as { readonly message: string };
    t.true(message.includes(deadline) && message.includes(next?.run_id ?? '-') && message.includes(id), message);
  }
});

test('a node finds out that nobody answered where its question has no default', async (t) => {
  await askedOn(t, 'without', { deadline: 1 });
  const [next] = await untilRuns('without', 2);
  t.deepEqual((await resultOf(next?.run_id ?? '')).messages.map(replyText), ['nobody answered']);
});

test('an answer before the deadline counts, and nothing comes at the deadline', async (t) => {
  const { meta } = await askedOn(t, 'answered', { deadline: 1500, default: 'late' });
  const shown = await runOf(meta.run_id);
  t.is(shown.deadline, meta.interrupts?.[0]?.deadline);
  const result = await invoke(t, 'answered', { resume: 'mine' });
  t.deepEqual(result.messages.map(replyText), ['answer: "mine"']);
  // The run that asked has its deadline until a sweep finds that it is over.
  await until(async () => (await runOf(meta.run_id)).deadline === undefined);
  t.is((await runsOf('answered')).length, 2);
});

test('a new message in place of an answer ends the deadline', async (t) => {
  const { meta } = await askedOn(t, 'moved', { deadline: 1000, default: 'late' });
  await invoke(t, 'moved', { messages: [user('{}')] });
  await until(async () => (await runOf(meta.run_id)).deadline === undefined);
  t.is((await runsOf('moved')).length, 2);
});

test('who stops the run that asked takes the deadline from its question, which stays open', async (t) => {
  const { meta } = await askedOn(t, 'stopped', { deadline: hour, default: 'late' });
  await service.send('POST', `/v1/runs/${meta.run_id}/cancel`);
  t.is((await runOf(meta.run_id)).deadline, undefined);
  t.deepEqual((await invoke(t, 'stopped', { resume: 'mine' })).messages.map(replyText), ['answer: "mine"']);
});

test('a deadline is at most ten years ahead, and a default comes with one', async (t) => {
  for (const asking of [{ deadline: 11 * 365 * 24 * hour }, { default: 1 }, { deadline: -1 }])
    t.is((await service.send('POST', '/v1/graph/invoke', { messages: [user(JSON.stringify(asking))] })).status, 500);
});

test('the inbox shows the deadline of a question where it counts, and none in a fork, which has none', async (t) => {
  await askedOn(t, 'forked', { deadline: hour, default: 'no' });
  const listed = await service.send('GET', '/v1/threads/forked/checkpoints?limit=1');
  const [checkpoint] = (listed.body.data as { checkpoints: { checkpoint_id: string }[] }).checkpoints;
  const forked = await service.send('POST', '/v1/threads/forked/fork', { checkpoint_id: checkpoint?.checkpoint_id });
  t.is(forked.status, 200, JSON.stringify(forked.body));
  const { items } = (await service.send('GET', '/v1/inbox')).body.data as {
    items: { thread_id: string; run_id: string; interrupts: Question[] }[];
  };
  const own = items.find(({ thread_id }) => thread_id === 'forked');
  const copies = items.filter(({ thread_id, run_id }) => thread_id !== 'forked' && run_id === own?.run_id);
  t.like(own?.interrupts, [{ default: 'no' }]);
  t.is(typeof own?.interrupts[0]?.deadline, 'string');
  t.is(copies.length, 1);
  const [{ deadline: _, default: _default, ...question }] = own?.interrupts as [Question];
  t.deepEqual(copies[0]?.interrupts, [question]);
});
