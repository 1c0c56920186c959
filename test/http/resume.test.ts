import test, { type ExecutionContext } from 'ava';
import { createClient, user, type Client } from '../servers/client.ts';
import { openGate } from '../servers/gate.ts';
import { makeWorkspace, startStandalone } from '../servers/standalone.ts';
import { replyText, serve } from './service.ts';
import { embeddedOnly } from './shape.ts';

const service = serve(test, 'asking');

interface Result {
  readonly all_messages: readonly { readonly content: readonly { readonly text?: string }[] }[];
  readonly state: { readonly answers: readonly unknown[] };
  readonly meta: {
    readonly run_id: string;
    readonly status: string;
    readonly resumes?: string;
    readonly interrupts?: readonly { readonly id: string; readonly node: string; readonly value: unknown }[];
  };
}

const invoke = async ({ send }: Pick<Client, 'send'>, thread: string, body: object): Promise<Result> =>
  (await send('POST', '/v1/graph/invoke', { messages: [], ...body, config: { thread_id: thread } })).body.data;

const start = (thread: string, client: Pick<Client, 'send'> = service): Promise<Result> =>
  invoke(client, thread, { messages: [user('go')] });

/** A fork of the thread from the newest checkpoint of a run. */
async function forkAt(t: ExecutionContext, thread: string, { meta }: Result): Promise<string> {
  const path = `/v1/threads/${thread}`;
  const { checkpoints } = (await service.data(t, 'listCheckpoints', service.send('GET', `${path}/checkpoints`))) as {
    readonly checkpoints: readonly { readonly run_id: string; readonly checkpoint_id: string }[];
  };
  const { checkpoint_id } = checkpoints.find(({ run_id: id }) => id === meta.run_id) ?? {};
  const fork = await service.data(t, 'forkThread', service.send('POST', `${path}/fork`, { checkpoint_id }));
  return (fork as { readonly thread_id: string }).thread_id;
}

interface Chained {
  readonly run_id: string;
  readonly resumed_by?: string;
}

test('a node asks twice, each answer goes on with it, and what a node beside it gave is merged with the last answer', async (t) => {
  const first = await start('asked');
  t.is(first.meta.status, 'interrupted');
  t.deepEqual(first.all_messages.map(replyText), []);
  const [name] = first.meta.interrupts ?? [];
  t.like(name, { node: 'ask', value: { question: 'What is your name?' } });

  const second = await invoke(service, 'asked', { resume: { [name?.id ?? '']: 'Ada' } });
  t.like(second.meta, { status: 'interrupted', resumes: first.meta.run_id });
  t.deepEqual(
    second.meta.interrupts?.map(({ value }) => value),
    [{ question: 'What colour?' }],
  );

  const third = await invoke(service, 'asked', { resume: 'green' });
  t.like(third.meta, { status: 'completed', resumes: second.meta.run_id });
  t.deepEqual(third.all_messages.map(replyText), ['Ada likes green', 'beside', 'both are done']);
  t.deepEqual(third.state.answers, ['Ada', 'green']);
  const ids = [first, second, third].map(({ meta }) => meta.run_id);
  const chainOf = async (id = '', query = ''): Promise<unknown> => {
    const reply = await service.data(t, 'getRunChain', service.send('GET', `/v1/runs/${id}/chain${query}`));
    const { runs, has_more: hasMore } = reply as { readonly runs: readonly Chained[]; readonly has_more: boolean };
    return [runs.map(({ run_id: run, resumed_by: by }) => [run, by]), hasMore];
  };
  const [one, two, last] = ids.map((id, index) => [id, ids[index + 1]]);
  t.deepEqual(await chainOf(ids[0]), [[one, two, last], false]);
  t.deepEqual(await chainOf(ids[1]), [[two, last], false]);
  t.deepEqual(await chainOf(ids[0], '?limit=2'), [[one, two], true]);
});

test('a thread that is brought back to before a question asks it again, and each start from there is a run of its own', async (t) => {
  const first = await start('back');
  const path = '/v1/threads/back';
  const { checkpoints } = (await service.data(t, 'listCheckpoints', service.send('GET', `${path}/checkpoints`))) as {
    readonly checkpoints: readonly { readonly source: string; readonly checkpoint_id: string }[];
  };
  const asked = checkpoints[0]?.checkpoint_id;
  const second = await invoke(service, 'back', { resume: 'Ada' });
  await invoke(service, 'back', { resume: 'green' });

  // Before the question: the thread as the run found it.
  await service.data(
    t,
    'restoreThread',
    service.send('POST', `${path}/restore`, { checkpoint_id: checkpoints.at(-1)?.checkpoint_id }),
  );
  const again = await start('back');
  t.deepEqual(
    again.meta.interrupts?.map(({ value }) => value),
    first.meta.interrupts?.map(({ value }) => value),
  );
  t.not(again.meta.interrupts?.[0]?.id, first.meta.interrupts?.[0]?.id);

  // At the question: it waits for its answer again, under its id.
  const from = (body: object): ReturnType<Client['send']> =>
    service.send('POST', '/v1/graph/invoke', {
      messages: [],
      ...body,
      config: { thread_id: 'back', checkpoint_id: asked },
    });
  const answer = { resume: { [first.meta.interrupts?.[0]?.id ?? '']: 'Grace' } };
  const other = (await from(answer)).body.data as Result;
  t.like(other.meta, { status: 'interrupted', resumes: first.meta.run_id });
  t.deepEqual((await invoke(service, 'back', { resume: 'red' })).state.answers, ['Grace', 'red']);
  const third = (await from(answer)).body.data as Result;
  t.notDeepEqual(third.meta.run_id, other.meta.run_id);
  t.deepEqual((await invoke(service, 'back', { resume: 'blue' })).state.answers, ['Grace', 'blue']);
  t.is(second.meta.status, 'interrupted');

  const alone = service.send('POST', '/v1/runs', { messages: [user('go')], config: { checkpoint_id: asked } });
  t.deepEqual(await service.refused(t, alone, 422, 'VALIDATION_ERROR'), [['body', 'config', 'checkpoint_id']]);
  const absent = { messages: [user('go')], config: { thread_id: 'back', checkpoint_id: '1' } };
  await service.refused(t, service.send('POST', '/v1/runs', absent), 404, 'RESOURCE_NOT_FOUND');
});

test('an answer that is an object but no id of a question is one bare answer', async (t) => {
  await start('bare');
  const second = await invoke(service, 'bare', { resume: { first: 'Ada', last: 'L.' } });
  t.is(second.meta.status, 'interrupted');
  const third = await invoke(service, 'bare', { resume: null });
  t.deepEqual(third.state.answers, [{ first: 'Ada', last: 'L.' }, null]);
});

test('an answer that is sent twice answers its own question once, and not the next one', async (t) => {
  const first = await start('twice');
  const resume = { [first.meta.interrupts?.[0]?.id ?? '']: 'Ada' };
  const second = await invoke(service, 'twice', { resume });
  t.is(second.meta.status, 'interrupted');
  const again = service.send('POST', '/v1/graph/invoke', { messages: [], resume, config: { thread_id: 'twice' } });
  await service.refused(t, again, 400, 'BAD_REQUEST');
  t.deepEqual((await invoke(service, 'twice', { resume: 'green' })).state.answers, ['Ada', 'green']);
});

test('a bare answer is refused while a run is under way: it does not answer what that run asks next', async (t) => {
  await using gate = await openGate();
  const first = await start('bare-twice');
  const config = { thread_id: 'bare-twice', gate: gate.url };
  const answer = { messages: [], resume: 'Ada', config };
  const answered = service.send('POST', '/v1/graph/invoke', answer);
  await gate.visited(1);
  for (const path of ['/v1/graph/invoke', '/v1/runs']) {
    const again = service.send('POST', path, answer);
    t.deepEqual(await service.refused(t, again, 400, 'BAD_REQUEST'), [['body', 'resume']]);
  }
  const named = { [first.meta.interrupts?.[0]?.id ?? '']: 'Ada' };
  const queued = service.send('POST', '/v1/graph/invoke', { ...answer, resume: named });
  gate.open();
  const { meta } = (await answered).body.data as Result;
  t.deepEqual(
    meta.interrupts?.map(({ value }) => value),
    [{ question: 'What colour?' }],
  );
  await service.refused(t, queued, 400, 'BAD_REQUEST');
  t.deepEqual((await invoke(service, 'bare-twice', { resume: 'green' })).state.answers, ['Ada', 'green']);
});

test('an answer where nothing was asked is 400, and no message without an answer is 422', async (t) => {
  const config = { thread_id: 'nothing-asked' };
  const unasked = service.send('POST', '/v1/graph/invoke', { messages: [], resume: 1, config });
  t.deepEqual(await service.refused(t, unasked, 400, 'BAD_REQUEST'), [['body', 'resume']]);
  const empty = service.send('POST', '/v1/graph/invoke', { messages: [], config });
  t.deepEqual(await service.refused(t, empty, 422, 'VALIDATION_ERROR'), [['body', 'messages']]);
});

test('a new message instead of an answer begins anew, and what the step held stands before it', async (t) => {
  const first = await start('anew');
  const again = await start('anew');
  t.is(again.meta.status, 'interrupted');
  t.not(again.meta.interrupts?.[0]?.id, first.meta.interrupts?.[0]?.id);
  const { messages } = (await service.data(t, 'listMessages', service.send('GET', '/v1/threads/anew/messages'))) as {
    readonly messages: Parameters<typeof replyText>[0][];
  };
  t.deepEqual(messages.map(replyText), ['go', 'beside', 'go']);
});

test('a new message that is queued behind an answer drops the question that the answer leads to', async (t) => {
  await start('queued');
  const config = { thread_id: 'queued' };
  const accept = async (body: object): Promise<string> =>
    ((await service.send('POST', '/v1/runs', { messages: [], ...body, config })).body.data as { run_id: string })
      .run_id;
  const answered = await accept({ resume: 'Ada' });
  const begun = await accept({ messages: [user('go')] });
  const questionsOf = async (run: string): Promise<readonly unknown[]> =>
    ((await service.send('GET', `/v1/runs/${run}/wait`)).body.data as Result).meta.interrupts?.map(
      ({ value }) => value,
    ) ?? [];
  t.deepEqual(await questionsOf(answered), [{ question: 'What colour?' }]);
  t.deepEqual(await questionsOf(begun), [{ question: 'What is your name?' }]);
});

test('a run that was answered and failed leaves no question: a new message begins anew, and a fork from the question goes on', async (t) => {
  const config = { thread_id: 'failed' };
  const post = (resume: unknown) => service.send('POST', '/v1/graph/invoke', { messages: [], resume, config });
  await start('failed');
  const asked = await invoke(service, 'failed', { resume: 'Ada' });
  const [colour] = asked.meta.interrupts ?? [];
  await service.refused(t, post({ [colour?.id ?? '']: 'none' }), 500, 'NODE_ERROR');
  await service.refused(t, post({ [colour?.id ?? '']: 'green' }), 400, 'BAD_REQUEST');

  const done = await invoke(service, await forkAt(t, 'failed', asked), {
    resume: { [colour?.id ?? '']: 'green' },
  });
  t.deepEqual([done.meta.status, done.state.answers], ['completed', ['Ada', 'green']]);

  const anew = await start('failed');
  t.deepEqual(
    anew.meta.interrupts?.map(({ value }) => value),
    [{ question: 'What is your name?' }],
  );
});

test('a question has the same id in a fork, so that its node has the same idempotency key there', async (t) => {
  const first = await start('trunk');
  const fork = await forkAt(t, 'trunk', first);
  const [{ id } = { id: '' }] = first.meta.interrupts ?? [];
  const there = await invoke(service, fork, { resume: { [id]: 'Ada' } });
  const here = await invoke(service, 'trunk', { resume: { [id]: 'Grace' } });
  t.is(there.meta.interrupts?.[0]?.id, here.meta.interrupts?.[0]?.id);
  t.is(here.meta.interrupts?.length, 1);
});

embeddedOnly(test, 'a question asked before a restart is answered after it', async (t) => {
  await using workspace = await makeWorkspace('asking');
  const before = await startStandalone(workspace.env);
  await start('kept', createClient(before.url));
  await before.stop('SIGKILL');
  await using after = await startStandalone(workspace.env);
  const client = createClient(after.url);
  await invoke(client, 'kept', { resume: 'Ada' });
  const last = await invoke(client, 'kept', { resume: 'blue' });
  t.like(last.meta, { status: 'completed' });
  t.deepEqual(last.state.answers, ['Ada', 'blue']);
});
