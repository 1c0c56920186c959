import test, { type ExecutionContext } from 'ava';
import { user } from '../servers/client.ts';
import { openGate } from '../servers/gate.ts';
import { serve } from './service.ts';

const { send, data, refused, thread } = serve(test);
const gated = serve(test, 'gated');
const few = serve(test, 'obedient', { CHECKPOINT_KEEP: '1' });

interface Checkpoint {
  readonly checkpoint_id: string;
  readonly source: string;
  readonly step: number | null;
  readonly metadata: unknown;
  readonly started_at: string | null;
  readonly ended_at: string | null;
}

async function checkpointsOf(t: ExecutionContext, id: string): Promise<readonly Checkpoint[]> {
  const reply = (await data(t, 'listCheckpoints', send('GET', `/v1/threads/${id}/checkpoints`))) as {
    checkpoints: Checkpoint[];
  };
  return reply.checkpoints;
}

interface Past {
  readonly checkpoint: Checkpoint;
  readonly state: Record<string, unknown> & { readonly context: readonly unknown[] };
}

const at = async (t: ExecutionContext, id: string, checkpointId = ''): Promise<Past> =>
  await data(t, 'getCheckpoint', send('GET', `/v1/threads/${id}/checkpoints/${checkpointId}`));

const sendText = (id: string, text: string) =>
  send('POST', '/v1/graph/invoke', { messages: [user(text)], config: { thread_id: id } });

interface Forkable {
  readonly message_id: string;
  readonly checkpoint_id: string;
  /** Of a single message. */
  readonly message: { readonly checkpoint_id: string };
}

const messagesOf = async (t: ExecutionContext, id: string): Promise<Forkable[]> => {
  const reply = await data(t, 'listMessages', send('GET', `/v1/threads/${id}/messages`));
  return (reply as { messages: Forkable[] }).messages;
};

const withoutCheckpoint = ({ checkpoint_id: _, ...message }: Forkable): object => message;

test('each turn and each direct write is a checkpoint, the newest first, with what made it', async (t) => {
  await thread('listed');
  await send('POST', '/v1/threads/listed/messages', { messages: [user('aside')], metadata: { by: 'hand' } });
  const checkpoints = await checkpointsOf(t, 'listed');
  t.deepEqual(checkpoints[0]?.metadata, { by: 'hand' });
  t.deepEqual(
    checkpoints.map(({ source }) => source),
    ['update', 'step', 'input'],
  );
  const [update, step] = checkpoints;
  t.like(step, { attempt: 1, retries: 0, usage: { input_tokens: 0, output_tokens: 0 } });
  const [began, ended] = [step?.started_at ?? '', step?.ended_at ?? ''].map((time) => Date.parse(time));
  t.true((began ?? Number.NaN) <= (ended ?? Number.NaN));
  t.like(update, { started_at: null, ended_at: null, attempt: null, retries: null, usage: null });
});

test('a page of checkpoints goes on where the one before ended', async (t) => {
  await thread('paged');
  await sendText('paged', 'more');
  const all = await checkpointsOf(t, 'paged');
  const path = '/v1/threads/paged/checkpoints?limit=1';
  const seen: string[] = [];
  for (let cursor: string | undefined = ''; cursor !== undefined;) {
    const page = (await data(t, 'listCheckpoints', send('GET', `${path}${cursor && `&cursor=${cursor}`}`))) as {
      checkpoints: Checkpoint[];
      cursor?: string;
    };
    seen.push(...page.checkpoints.map(({ checkpoint_id: id }) => id));
    ({ cursor } = page);
  }
  t.deepEqual(
    seen,
    all.map(({ checkpoint_id: id }) => id),
  );
});

test('a thread is brought back to a checkpoint, and the next run goes on from there', async (t) => {
  await thread('restored');
  const back = (await checkpointsOf(t, 'restored'))[0]?.checkpoint_id ?? '';
  const first = await messagesOf(t, 'restored');
  await sendText('restored', 'more');
  const newest = (await checkpointsOf(t, 'restored'))[0]?.checkpoint_id ?? '';
  const path = '/v1/threads/restored/restore';
  t.like(await data(t, 'restoreThread', send('POST', path, { checkpoint_id: back })), { status: 'idle' });
  const idsOf = (messages: readonly Forkable[]): string[] => messages.map(({ message_id: id }) => id);
  t.deepEqual(idsOf(await messagesOf(t, 'restored')), idsOf(first));
  const [made] = await checkpointsOf(t, 'restored');
  t.like(made, { source: 'restore', metadata: { parent: { checkpoint_id: back } } });
  await sendText('restored', 'other');
  const past = await at(t, 'restored', newest);
  t.true(JSON.stringify(past.state.context).includes('more'));
  const now = JSON.stringify(await messagesOf(t, 'restored'));
  t.true(now.includes('other'));
  t.false(now.includes('more'));
  const other = { checkpoint_id: back, config: { thread_id: 'another' } };
  await refused(t, send('POST', path, other), 400, 'BAD_REQUEST');
  await refused(t, send('POST', path, { checkpoint_id: '1' }), 404, 'RESOURCE_NOT_FOUND');
});

test('a message names the checkpoint from which a fork ends after it; what a caller sends under that name is dropped', async (t) => {
  const given = { ...user('one'), message_id: 'one', checkpoint_id: '7' };
  await thread('named');
  await send('POST', '/v1/threads/named/messages', { messages: [given] });
  await send('POST', '/v1/threads/named/messages', { messages: [{ ...user('two'), message_id: 'two' }] });
  const one = (await data(t, 'getMessage', send('GET', '/v1/threads/named/messages/one'))) as Forkable;
  t.is(one.checkpoint_id, (await checkpointsOf(t, 'named'))[1]?.checkpoint_id ?? '');
  t.is(one.message.checkpoint_id, one.checkpoint_id);
  const listed = await messagesOf(t, 'named');
  t.is(listed.at(-2)?.checkpoint_id, one.checkpoint_id);
  const body = { checkpoint_id: one.checkpoint_id };
  const { thread_id: fork } = (await data(t, 'forkThread', send('POST', '/v1/threads/named/fork', body))) as {
    thread_id: string;
  };
  t.is((await messagesOf(t, fork)).at(-1)?.message_id, 'one');
});

test('a fork from the checkpoint of a message that is no longer kept is refused by its id', async (t) => {
  await few.thread('few');
  // A store may keep up to 15 more than it must.
  for (const index of Array(18).keys())
    await few.send('POST', '/v1/threads/few/messages', { messages: [user(String(index))] });
  const { messages } = (await few.send('GET', '/v1/threads/few/messages')).body.data as { messages: Forkable[] };
  const [first, last] = [messages.at(0)?.checkpoint_id ?? '', messages.at(-1)?.checkpoint_id ?? ''];
  const forked = await few.send('POST', '/v1/threads/few/fork', { checkpoint_id: last });
  t.is(forked.status, 200);
  const reply = few.send('POST', '/v1/threads/few/fork', { checkpoint_id: first });
  await few.refused(t, reply, 404, 'RESOURCE_NOT_FOUND');
  t.true(JSON.stringify((await reply).body).includes(`checkpoint \\"${first}\\" of thread`));
});

test('the state at a checkpoint is the state that was, whatever came after', async (t) => {
  await thread('past');
  const before = (await data(t, 'getState', send('GET', '/v1/threads/past/state'))) as { state: unknown };
  const [newest] = await checkpointsOf(t, 'past');
  await sendText('past', 'more');
  await send('POST', '/v1/threads/past/state', { config: {}, state: { rounds: 99 } });
  const { state, checkpoint } = await at(t, 'past', newest?.checkpoint_id);
  t.deepEqual(state as unknown, before.state);
  t.is(checkpoint.checkpoint_id, newest?.checkpoint_id ?? 'none');
});

test('a fork begins where the thread stood, and goes its own way', async (t) => {
  await thread('trunk');
  const [first] = await checkpointsOf(t, 'trunk');
  const past = await at(t, 'trunk', first?.checkpoint_id);
  const log = await messagesOf(t, 'trunk');
  await sendText('trunk', 'on the trunk');

  const body = { checkpoint_id: first?.checkpoint_id, config: { thread_name: 'a branch', metadata: { tried: true } } };
  const fork = (await data(t, 'forkThread', send('POST', '/v1/threads/trunk/fork', body))) as Record<string, string>;
  t.like(fork, { thread_name: 'a branch', metadata: { tried: true } });
  const id = fork['thread_id'] ?? 'none';
  t.deepEqual(await messagesOf(t, id), log.map(withoutCheckpoint));
  const state = (await data(t, 'getState', send('GET', `/v1/threads/${id}/state`))) as { state: unknown };
  t.deepEqual(state.state, past.state as unknown);

  await sendText(id, 'on the branch');
  t.true(JSON.stringify(await messagesOf(t, id)).includes('on the branch'));
  t.false(JSON.stringify(await messagesOf(t, 'trunk')).includes('on the branch'));
  t.is((await checkpointsOf(t, id)).at(-1)?.source, 'fork');
});

test('what replaced a message in a fork is replaced again from the checkpoint of the fork', async (t) => {
  for (const text of ['one', 'two']) await sendText('edited', text);
  const before = (await messagesOf(t, 'edited'))[1];
  const forkOf = async (id: string, checkpointId: string | undefined): Promise<string> => {
    const forked = send('POST', `/v1/threads/${id}/fork`, { checkpoint_id: checkpointId });
    return ((await data(t, 'forkThread', forked)) as { readonly thread_id: string }).thread_id;
  };
  const fork = await forkOf('edited', before?.checkpoint_id);
  const copied = await messagesOf(t, fork);
  t.deepEqual(
    copied.map(({ checkpoint_id: id }) => id as unknown),
    [undefined, undefined],
  );
  await sendText(fork, 'TWO');
  t.is((await messagesOf(t, fork)).length, 4);
  const made = (await checkpointsOf(t, fork)).at(-1);
  t.is(made?.source, 'fork');
  t.deepEqual(await messagesOf(t, await forkOf(fork, made?.checkpoint_id)), copied);
});

test('a fork that is asked for twice under one key is made once', async (t) => {
  await thread('once');
  const [{ checkpoint_id } = { checkpoint_id: '' }] = await checkpointsOf(t, 'once');
  const fork = () => send('POST', '/v1/threads/once/fork', { checkpoint_id }, { 'idempotency-key': 'fork-once' });
  const replies = await Promise.all([fork(), fork(), fork()]);
  const ids = replies.map(({ body }) => (body.data as { thread_id: string }).thread_id);
  t.is(new Set(ids).size, 1, ids.join(' '));
});

test('a checkpoint that is not there, or is another thread’s, is not found', async (t) => {
  await thread('here');
  await thread('elsewhere');
  const [there] = await checkpointsOf(t, 'elsewhere');
  for (const id of ['absent', '1', there?.checkpoint_id ?? '']) {
    await refused(t, send('GET', `/v1/threads/here/checkpoints/${id}`), 404, 'RESOURCE_NOT_FOUND');
    const fork = send('POST', '/v1/threads/here/fork', { checkpoint_id: id });
    await refused(t, fork, 404, 'RESOURCE_NOT_FOUND');
  }
  await refused(t, send('GET', '/v1/threads/absent/checkpoints'), 404, 'RESOURCE_NOT_FOUND');
});

test('a fork that names no checkpoint is a copy, with its own name, and goes its own way', async (t) => {
  await thread('unnamed');
  const fork = send('POST', '/v1/threads/unnamed/fork', { config: { thread_name: 'a copy' } });
  const { thread_id: copy, thread_name } = (await data(t, 'forkThread', fork)) as Readonly<Record<string, string>>;
  t.is(thread_name, 'a copy');
  const idsOf = async (id = ''): Promise<readonly string[]> =>
    (await messagesOf(t, id)).map((shown) => shown.message_id);
  t.deepEqual(await idsOf(copy), await idsOf('unnamed'));
  await sendText(copy ?? '', 'on the copy');
  t.true((await idsOf(copy)).length > (await idsOf('unnamed')).length);
  const key = { 'idempotency-key': 'copy-once' };
  const twice = [
    await send('POST', '/v1/threads/unnamed/fork', {}, key),
    await send('POST', '/v1/threads/unnamed/fork', {}, key),
  ];
  const [first, again] = twice.map(({ body }) => (body.data as { thread_id: string }).thread_id);
  t.is(first, again);
  const other = { checkpoint_id: '1', config: { thread_id: 'another' } };
  t.deepEqual(await refused(t, send('POST', '/v1/threads/unnamed/fork', other), 400, 'BAD_REQUEST'), [
    ['body', 'config', 'thread_id'],
  ]);
});

test('older checkpoints are dropped, and the thread stays as it is', async (t) => {
  await thread('pruned');
  await sendText('pruned', 'more');
  const all = await checkpointsOf(t, 'pruned');
  const messages = await messagesOf(t, 'pruned');
  const path = '/v1/threads/pruned/prune';
  await data(t, 'pruneThread', send('POST', path, { before: '2000-01-01T00:00:00Z' }));
  t.is((await checkpointsOf(t, 'pruned')).length, all.length);
  await data(t, 'pruneThread', send('POST', path, { keep: 2, before: new Date(Date.now() + 60_000).toISOString() }));
  t.deepEqual(await checkpointsOf(t, 'pruned'), all.slice(0, 2));
  await data(t, 'pruneThread', send('POST', path, {}));
  t.deepEqual(await checkpointsOf(t, 'pruned'), all.slice(0, 1));
  t.deepEqual(await messagesOf(t, 'pruned'), messages);
  for (const [field, value] of Object.entries({ keep: 0, before: 'yesterday' }))
    t.deepEqual(await refused(t, send('POST', path, { [field]: value }), 422, 'VALIDATION_ERROR'), [['body', field]]);
  t.deepEqual(await refused(t, send('POST', path, { keep: 10_001 }), 422, 'VALIDATION_ERROR'), [['body', 'keep']]);
  await refused(t, send('POST', '/v1/threads/nowhere/prune', {}), 404, 'RESOURCE_NOT_FOUND');
});

test('a thread can be forked while a run is under way on it', async (t) => {
  const gate = await openGate();
  t.teardown(() => gate[Symbol.asyncDispose]());
  const body = { messages: [user('go')], config: { thread_id: 'busy', gate: gate.url } };
  const accepted = await gated.send('POST', '/v1/runs', body);
  await gate.visited(1);
  const list = await gated.send('GET', '/v1/threads/busy/checkpoints');
  const [{ checkpoint_id } = { checkpoint_id: '' }] = (list.body.data as { checkpoints: Checkpoint[] }).checkpoints;
  const fork = await gated.send('POST', '/v1/threads/busy/fork', { checkpoint_id });
  t.is(fork.status, 200);
  gate.open();
  const { run_id } = accepted.body.data as { run_id: string };
  t.is((await gated.send('GET', `/v1/runs/${run_id}/wait`)).status, 200);
});
