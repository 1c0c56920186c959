import test, { type ExecutionContext } from 'ava';
import { byLoad } from '../by-load.ts';
import { user, type Reply } from '../servers/client.ts';
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
  (
    (await service.send('GET', `/v1/threads/${encodeURIComponent(thread)}/runs`)).body.data as {
      readonly runs: readonly Run[];
    }
  ).runs;

const runOf = async (runId: string): Promise<Run> => (await service.send('GET', `/v1/runs/${runId}`)).body.data;

const answersOf = async (thread: string): Promise<unknown> => {
  const { body } = await service.send('GET', `/v1/threads/${encodeURIComponent(thread)}/state`);
  return (body.data as { readonly state: { readonly answers: unknown } }).state.answers;
};

/** Resolves with the thread's runs as soon as there are so many. */
const untilRuns = async (thread: string, count: number): Promise<readonly Run[]> => {
  let runs: readonly Run[] = [];
  await until(async () => (runs = await runsOf(thread)).length === count);
  return runs;
};

const resultOf = async (runId: string): Promise<Result> =>
  (await service.send('GET', `/v1/runs/${runId}/wait`)).body.data;

test.serial(
  'a question whose deadline passes is answered with its default, and a late answer is refused with that reason',
  async (t) => {
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
  },
);

test.serial('a node finds out that nobody answered where its question has no default', async (t) => {
  await askedOn(t, 'without', { deadline: 1 });
  const [next] = await untilRuns('without', 2);
  t.deepEqual((await resultOf(next?.run_id ?? '')).messages.map(replyText), ['nobody answered']);
});

test.serial('an answer before the deadline counts, and nothing comes at the deadline', async (t) => {
  const { meta } = await askedOn(t, 'answered', { deadline: byLoad(1500), default: 'late' });
  const shown = await runOf(meta.run_id);
  t.is(shown.deadline, meta.interrupts?.[0]?.deadline);
  const result = await invoke(t, 'answered', { resume: 'mine' });
  t.deepEqual(result.messages.map(replyText), ['answer: "mine"']);
  // The run that asked has its deadline until a sweep finds that it is over.
  await until(async () => (await runOf(meta.run_id)).deadline === undefined);
  t.is((await runsOf('answered')).length, 2);
});

test.serial('a new message in place of an answer ends the deadline', async (t) => {
  const { meta } = await askedOn(t, 'moved', { deadline: byLoad(1000), default: 'late' });
  await invoke(t, 'moved', { messages: [user('{}')] });
  await until(async () => (await runOf(meta.run_id)).deadline === undefined);
  t.is((await runsOf('moved')).length, 2);
});

test.serial('who stops the run that asked takes the deadline from its question, which stays open', async (t) => {
  const { meta } = await askedOn(t, 'stopped', { deadline: hour, default: 'late' });
  await service.send('POST', `/v1/runs/${meta.run_id}/cancel`);
  t.is((await runOf(meta.run_id)).deadline, undefined);
  t.deepEqual((await invoke(t, 'stopped', { resume: 'mine' })).messages.map(replyText), ['answer: "mine"']);
});

/** The newest checkpoint of the thread: that of the question which it waits for. */
const newestOf = async (thread: string): Promise<string> => {
  const { body } = await service.send('GET', `/v1/threads/${encodeURIComponent(thread)}/checkpoints?limit=1`);
  const { checkpoints } = body.data as { readonly checkpoints: readonly { readonly checkpoint_id: string }[] };
  return checkpoints[0]?.checkpoint_id ?? '';
};

const inboxOf = async (thread: string): Promise<readonly Question[] | undefined> => {
  const { items } = (await service.send('GET', '/v1/inbox?limit=100')).body.data as {
    readonly items: readonly { readonly thread_id: string; readonly interrupts: readonly Question[] }[];
  };
  return items.find(({ thread_id }) => thread_id === thread)?.interrupts;
};

test.serial('the inbox shows deadlines; a fork has none, and waits for its answer', async (t) => {
  const { meta } = await askedOn(t, 'forked', { deadline: byLoad(1500), default: 'late' });
  const [question] = meta.interrupts ?? [];
  t.deepEqual(await inboxOf('forked'), meta.interrupts);
  const checkpoint = { checkpoint_id: await newestOf('forked') };
  const fork = (await service.send('POST', '/v1/threads/forked/fork', checkpoint)).body.data as { thread_id: string };
  t.deepEqual(await inboxOf(fork.thread_id), [
    { id: question?.id ?? '', node: 'ask', value: 'Send it?' } as unknown as Question,
  ]);
  await untilRuns('forked', 2);
  t.is((await runsOf(fork.thread_id)).length, 0);
  const result = await invoke(t, fork.thread_id, { resume: { [question?.id ?? '']: 'mine' } });
  t.deepEqual(result.messages.map(replyText), ['answer: "mine"']);
});

test.serial(
  'a thread that is brought back to its question waits without a deadline, before that has passed and after it',
  async (t) => {
    for (const [thread, deadline] of [
      ['restored', hour],
      ['restored after', byLoad(300)],
    ] as const) {
      const { meta } = await askedOn(t, thread, { deadline, default: 'late' });
      const id = meta.interrupts?.[0]?.id ?? '';
      const checkpoint = { checkpoint_id: await newestOf(thread) };
      if (deadline === hour) await invoke(t, thread, { resume: 'first' });
      const [went] = await untilRuns(thread, 2);
      await resultOf(went?.run_id ?? '');
      const restored = await service.send('POST', `/v1/threads/${encodeURIComponent(thread)}/restore`, checkpoint);
      t.is(restored.status, 200, JSON.stringify(restored.body));
      t.is((await runOf(meta.run_id)).deadline, undefined);
      t.deepEqual(
        (await inboxOf(thread))?.map((one) => one.deadline),
        [undefined],
      );
      const result = await invoke(t, thread, { resume: { [id]: 'mine' } });
      t.deepEqual(result.messages.map(replyText), ['answer: "mine"']);
    }
  },
);

test.serial('with its thread a deadline is deleted, and is none of another thread of that name', async (t) => {
  const { meta } = await askedOn(t, 'deleted', { deadline: byLoad(800), default: 'late' });
  t.is((await service.send('DELETE', '/v1/threads/deleted')).status, 200);
  await askedOn(t, 'deleted', {});
  const deadline = Date.parse(meta.interrupts?.[0]?.deadline ?? '');
  await askedOn(t, 'beside deleted', { deadline: byLoad(1000), default: 'late' });
  await untilRuns('beside deleted', 2);
  t.true(Date.now() > deadline);
  t.is((await runsOf('deleted')).length, 1);
});

test.serial('who stops the thread takes the deadline from its question, which stays open', async (t) => {
  const { meta } = await askedOn(t, 'stopped thread', { deadline: hour, default: 'late' });
  const stop = (): Promise<Reply> => service.send('POST', '/v1/graph/stop', { thread_id: 'stopped thread' });
  for (let times = 0; times < 2; times++)
    t.like((await stop()).body.data, { success: false, run_id: null, status: 'idle' });
  t.is((await runOf(meta.run_id)).deadline, undefined);
  t.deepEqual(
    (await inboxOf('stopped thread'))?.map((one) => [one.deadline, one.default]),
    [[undefined, undefined]],
  );
  t.deepEqual((await invoke(t, 'stopped thread', { resume: 'mine' })).messages.map(replyText), ['answer: "mine"']);
});

test.serial(
  'questions of one step with different deadlines get their defaults one after the other, and an answer counts meanwhile',
  async (t) => {
    const asking = { deadline: byLoad(500), default: 'first', beside: { deadline: byLoad(2500), default: 'second' } };
    const { meta } = await askedOn(t, 'two', asking);
    const deadlines = (meta.interrupts ?? []).map(({ deadline = '' }) => deadline).toSorted();
    t.is((await runOf(meta.run_id)).deadline, deadlines[0]);
    const [second] = await untilRuns('two', 2);
    const between = await resultOf(second?.run_id ?? '');
    t.like(between.meta, { status: 'interrupted', interrupts: [{ deadline: deadlines[1], default: 'second' }] });
    const [third] = await untilRuns('two', 3);
    t.is((await resultOf(third?.run_id ?? '')).meta.status, 'completed');
    t.true(Date.now() >= Date.parse(deadlines[1] ?? ''));
    t.deepEqual(await answersOf('two'), ['first', 'second']);

    const { meta: mine } = await askedOn(t, 'two answered', { ...asking, beside: { deadline: hour } });
    await untilRuns('two answered', 2);
    const late = mine.interrupts?.find((one) => one.default === 'first')?.id ?? '';
    const open = mine.interrupts?.find((one) => one.default === undefined)?.id ?? '';
    const both = { messages: [], config: { thread_id: 'two answered' }, resume: { [late]: 1, [open]: 2 } };
    t.is((await service.send('POST', '/v1/graph/invoke', both)).status, 409);
    t.is((await invoke(t, 'two answered', { resume: { [open]: 'mine' } })).meta.status, 'completed');
    t.deepEqual(await answersOf('two answered'), ['first', 'mine']);
  },
);

test.serial(
  'a default does not answer a question that a caller has changed: that one is asked with a deadline of its own',
  async (t) => {
    const { meta } = await askedOn(t, 'changed', { deadline: byLoad(1000), default: 'late' });
    const change = { config: { thread_id: 'changed' }, state: { question: 'Send it now?' } };
    t.is((await service.send('PUT', '/v1/threads/changed/state', change)).status, 200);
    const [second] = await untilRuns('changed', 2);
    const asked = (await resultOf(second?.run_id ?? '')).meta;
    t.is(asked.status, 'interrupted');
    t.like(asked.interrupts, [{ value: 'Send it now?' }] as never);
    t.not(asked.interrupts?.[0]?.id, meta.interrupts?.[0]?.id);
    const [third] = await untilRuns('changed', 3);
    t.deepEqual((await resultOf(third?.run_id ?? '')).messages.map(replyText), ['answer: "late"']);
  },
);

test.serial(
  'a run that a deadline began and that failed is tried again with the default, and an answer is refused all the same',
  async (t) => {
    const failsUntil = Date.now() + byLoad(2000);
    const { meta } = await askedOn(t, 'retried', { deadline: 1, default: 'late', failsUntil });
    const id = meta.interrupts?.[0]?.id ?? '';
    const [failed] = await untilRuns('retried', 2);
    const failedId = failed?.run_id ?? '';
    await until(async () => (await runOf(failedId)).status === 'failed');
    const late = { messages: [], config: { thread_id: 'retried' }, resume: { [id]: 'mine' } };
    const refused = await service.send('POST', '/v1/graph/invoke', late);
    t.is(refused.status, 409);
    t.true(JSON.stringify(refused.body).includes(failedId));
    await until(() => Date.now() >= failsUntil);
    const { run_id: again } = (await service.send('POST', `/v1/runs/${failedId}/retry`)).body.data as Run;
    t.is((await resultOf(again)).meta.status, 'completed');
    t.deepEqual(await answersOf('retried'), ['late']);
  },
);

test.serial('a deadline is at most ten years ahead, and a default comes with one', async (t) => {
  for (const asking of [{ deadline: 11 * 365 * 24 * hour }, { default: 1 }, { deadline: -1 }])
    t.is((await service.send('POST', '/v1/graph/invoke', { messages: [user(JSON.stringify(asking))] })).status, 500);
});
