import test, { type ExecutionContext } from 'ava';
import { createClient, user, type Client } from '../servers/client.ts';
import { testedAgent } from '../servers/standalone.ts';
import { audience, goodClaims, issuer, makeToken } from '../servers/tokens.ts';
import { serve } from './service.ts';

const secret = 'a secret that is long enough for any of them, 64 bytes and more!!';
const env = {
  JWT_ALGORITHM: 'HS256',
  JWT_SECRET_KEY: secret,
  JWT_ISSUER: issuer,
  JWT_AUDIENCE: audience,
  RATE_LIMIT_AUTH_FAILURES: '0',
  RATE_LIMIT_REQUESTS: '0',
};
const access = {
  roles: {
    manager: { is: 'approver' },
    clerk: { is: 'approver', nodes: ['other'] },
    root: { is: 'admin' },
    support: { is: 'operator' },
  },
};
const service = serve(test, 'asking-others', env, { auth: 'jwt', access });

const as = (sub: string, ...roles: string[]): Client =>
  createClient(service.url(), {
    'a2a-version': '1.0',
    authorization: `Bearer ${makeToken('HS256', secret, { claims: goodClaims({ user_id: sub, roles }) })}`,
  });

interface Asked {
  readonly questionId: string;
  readonly runId: string;
  readonly interruptId: string;
  readonly thread: string;
}

interface Shown {
  readonly question_id: string;
  readonly thread_id: string;
  readonly answers: number;
  readonly answered: boolean;
}

const questionsOf = async (client: Client, query = ''): Promise<readonly Shown[]> => {
  const { status, body } = await client.send('GET', `/v1/questions${query}`);
  if (status !== 200) throw new Error(JSON.stringify(body));
  return (body.data as { readonly questions: readonly Shown[] }).questions;
};

let threads = 0;

/** A run of an owner that asks others. Of a question that is not to managers the admin finds the id. */
async function pose(owner: Client, options: object = { to: ['manager'], notOwner: true }): Promise<Asked> {
  const thread = `thread-${String(++threads)}`;
  const body = { messages: [user(JSON.stringify(options))], config: { thread_id: thread } };
  const { status, body: reply } = await owner.send('POST', '/v1/graph/invoke', body);
  if (status !== 200) throw new Error(JSON.stringify(reply));
  const { meta } = reply.data as { readonly meta: { run_id: string; interrupts: readonly { id: string }[] } };
  const question = (await questionsOf(as('root', 'root'))).find((one) => one.thread_id === thread);
  const { id = '' } = meta.interrupts[0] ?? {};
  return { questionId: question?.question_id ?? '', runId: meta.run_id, interruptId: id, thread };
}

const answer = (
  client: Client,
  { questionId }: Pick<Asked, 'questionId'>,
  value: unknown = true,
  { reason }: { readonly reason?: string } = {},
) => client.send('POST', `/v1/questions/${questionId}/answer`, { answer: value, reason });

/** The last run of the thread, once it has ended. */
async function outcome(owner: Client, { thread }: Asked): Promise<{ readonly run: Run; readonly text: string }> {
  const { body: found } = await owner.send('GET', `/v1/threads/${thread}`);
  const { run_id: runId } = found.data as { readonly run_id: string };
  const { body } = await owner.send('GET', `/v1/runs/${runId}/wait`);
  const { messages } = body.data as { readonly messages: readonly { content: readonly { text?: string }[] }[] };
  const run = (await owner.send('GET', `/v1/runs/${runId}`)).body.data as Run;
  return { run, text: messages[0]?.content[0]?.text ?? '' };
}

interface Run {
  readonly run_id: string;
  readonly status: string;
  readonly resumes?: string;
  readonly answered_by?: readonly { readonly by: string; readonly client: string }[];
}

async function isStillOpen(t: ExecutionContext, asked: Asked): Promise<void> {
  const open = await questionsOf(as('root', 'root'));
  t.true(open.some(({ question_id: id }) => id === asked.questionId));
}

test('an approver finds the question of another owner, answers it, and the run goes on as its owner', async (t) => {
  const [ada, boris] = [as('ada'), as('boris', 'manager')];
  const asked = await pose(ada);
  const [found] = (await questionsOf(boris)).filter(({ thread_id: id }) => id === asked.thread);
  t.like(found, {
    ...{ question_id: asked.questionId, asked_for: 'ada', run_id: asked.runId, node: 'approve', to: ['manager'] },
    ...{ not_owner: true, quorum: 1, answers: 0, answered: false },
  });
  const reply = await service.data(t, 'answerQuestion', answer(boris, asked));
  t.deepEqual(reply, { question_id: asked.questionId, status: 'answered', answers: 1, quorum: 1 } as never);
  const { run, text } = await outcome(ada, asked);
  t.is(text, 'answer true by boris (v1)');
  t.like(run, { resumes: asked.runId, status: 'completed' });
  t.like(run.answered_by?.[0], { by: 'boris', client: 'v1' });
  const { body } = await ada.send('GET', `/v1/threads/${asked.thread}/state`);
  t.like((body.data as { readonly state: object }).state, { decision: true, user: 'ada' });
  t.is((await boris.send('GET', `/v1/threads/${asked.thread}`)).status, 404);
  t.deepEqual(
    (await questionsOf(boris)).filter(({ thread_id: id }) => id === asked.thread),
    [],
  );
});

test('nobody else sees or answers it', async (t) => {
  const asked = await pose(as('ada'));
  const others = [
    as('ada'),
    as('ada', 'manager'),
    as('carol'),
    as('carol', 'clerk'),
    as('carol', 'nobody'),
    as('dan', 'support'),
  ];
  for (const other of others) {
    t.deepEqual(
      (await questionsOf(other)).filter(({ thread_id: id }) => id === asked.thread),
      [],
    );
    await service.refused(t, answer(other, asked), 404, 'RESOURCE_NOT_FOUND');
  }
  await service.refused(t, answer(as('boris', 'manager'), { questionId: 'none' }), 404, 'RESOURCE_NOT_FOUND');
  const more = { answer: true, messages: [user('hi')] };
  await as('boris', 'manager').send('POST', `/v1/questions/${asked.questionId}/answer`, { messages: [user('hi')] });
  await isStillOpen(t, asked);
  t.is((await as('boris', 'manager').send('POST', `/v1/questions/${asked.questionId}/answer`, more)).status, 200);
  t.is((await outcome(as('ada'), asked)).text, 'answer true by boris (v1)');
});

test('the owner gets around it in no way', async (t) => {
  const ada = as('ada', 'manager');
  const asked = await pose(ada);
  const { thread, runId, interruptId } = asked;
  const config = { thread_id: thread };
  const send = (path: string, body: object) => ada.send('POST', path, body);
  const isRefused = async (status: number, reply: Promise<{ readonly status: number; readonly body: unknown }>) => {
    const { status: actual, body } = await reply;
    t.is(actual, status, JSON.stringify(body));
  };
  for (const resume of [true, { [interruptId]: true }])
    await isRefused(403, send('/v1/graph/invoke', { messages: [], resume, config }));
  for (const multitask_strategy of ['enqueue', 'reject', 'interrupt', 'rollback'])
    await isRefused(
      409,
      send('/v1/graph/invoke', { messages: [user('{}')], config: { ...config, multitask_strategy } }),
    );
  const { body } = await ada.send('GET', `/v1/threads/${thread}/checkpoints`);
  const { checkpoints } = body.data as { readonly checkpoints: readonly { readonly checkpoint_id: string }[] };
  const at = checkpoints.at(-1)?.checkpoint_id;
  await isRefused(409, send('/v1/graph/invoke', { messages: [user('{}')], config: { ...config, checkpoint_id: at } }));
  await isRefused(409, send(`/v1/threads/${thread}/restore`, { checkpoint_id: at }));
  await isRefused(409, ada.send('DELETE', `/v1/threads/${thread}/state`));
  await isRefused(422, send(`/v1/threads/${thread}/state`, { state: { decision: true }, config }));
  await isRefused(422, send(`/v1/threads/${thread}/state`, { state: { decision: true }, mode: 'replace', config }));
  await isRefused(422, send('/v1/graph/invoke', { messages: [], initial_state: { decision: true } }));
  await isRefused(409, send(`/v1/runs/${runId}/retry`, {}));
  const command = { assistant_id: 'default', command: { resume: true } };
  await isRefused(403, ada.send('POST', `/langgraph/threads/${thread}/runs/wait`, command));
  const update = { values: { decision: true }, as_node: 'approve' };
  await isRefused(422, ada.send('POST', `/langgraph/threads/${thread}/state`, update));
  await isRefused(409, ada.send('POST', `/langgraph/threads/${thread}/state`, { values: {}, as_node: 'approve' }));
  const fork = await send(`/v1/threads/${thread}/fork`, { checkpoint_id: checkpoints[0]?.checkpoint_id });
  const { thread_id: forked } = fork.body.data as { readonly thread_id: string };
  await isRefused(403, send('/v1/graph/invoke', { messages: [], resume: true, config: { thread_id: forked } }));
  await isStillOpen(t, asked);
  const { status } = await answer(as('boris', 'manager'), asked);
  t.is(status, 200);
  await outcome(ada, asked);
  await service.refused(t, answer(as('clara', 'manager'), asked), 404, 'RESOURCE_NOT_FOUND');
});

test('an owner with the role answers a question that does not leave him out, in his own way, too', async (t) => {
  const ada = as('ada', 'manager');
  const asked = await pose(ada, { to: ['manager'] });
  const body = { messages: [], resume: true, config: { thread_id: asked.thread } };
  const { status } = await ada.send('POST', '/v1/graph/invoke', body);
  t.is(status, 200);
  t.is((await outcome(ada, asked)).text, 'answer true by ada (v1)');
  const dropped = await pose(ada, { to: ['manager'] });
  const message = { messages: [user('{"to":["manager"]}')], config: { thread_id: dropped.thread } };
  t.is((await ada.send('POST', '/v1/graph/invoke', message)).status, 200);
});

test('a thread that is brought back to its question asks another one, and the same answer again approves nothing', async (t) => {
  const [ada, boris] = [as('ada'), as('boris', 'manager')];
  const asked = await pose(ada);
  const { body } = await ada.send('GET', `/v1/threads/${asked.thread}/checkpoints`);
  const [checkpoint] = (body.data as { readonly checkpoints: readonly { readonly checkpoint_id: string }[] })
    .checkpoints;
  t.is((await answer(boris, asked)).status, 200);
  const { run } = await outcome(ada, asked);
  t.is((await ada.send('POST', `/v1/threads/${asked.thread}/restore`, { ...checkpoint })).status, 200);
  const again = await service.data(t, 'answerQuestion', answer(boris, asked));
  t.deepEqual(again, { question_id: asked.questionId, status: 'answered', answers: 1, quorum: 1 } as never);
  await service.refused(t, answer(as('clara', 'manager'), asked), 404, 'RESOURCE_NOT_FOUND');
  t.is((await outcome(ada, asked)).run.run_id, run.run_id);
  const [anew] = (await questionsOf(boris)).filter(({ thread_id: id }) => id === asked.thread);
  t.not(anew?.question_id, asked.questionId);
  t.is((await answer(boris, { questionId: anew?.question_id ?? '' })).status, 200);
  t.not((await outcome(ada, asked)).run.run_id, run.run_id);
});

test('a fork asks without the run that has asked in the other thread', async (t) => {
  const [ada, boris] = [as('ada'), as('boris', 'manager')];
  const asked = await pose(ada);
  const fork = await ada.send('POST', `/v1/threads/${asked.thread}/fork`, {});
  const { thread_id: forked } = fork.body.data as { readonly thread_id: string };
  const runs = new Map((await questionsOf(boris)).map((one) => [one.thread_id, (one as { run_id?: unknown }).run_id]));
  t.is(runs.get(asked.thread), asked.runId);
  t.is(runs.get(forked), null);
  const inbox = (await ada.send('GET', '/v1/inbox?limit=100')).body.data as {
    readonly items: readonly { readonly thread_id: string; readonly run_id: unknown }[];
  };
  const inInbox = new Map(inbox.items.map((one) => [one.thread_id, one.run_id]));
  t.is(inInbox.get(asked.thread), asked.runId);
  t.is(inInbox.get(forked), null);
});

test('a quorum takes so many callers, and an answer that differs ends it', async (t) => {
  const [boris, clara, dora] = ['boris', 'clara', 'dora'].map((name) => as(name, 'manager')) as [
    Client,
    Client,
    Client,
  ];
  const asked = await pose(as('ada'), { to: ['manager'], quorum: 2 });
  const first = { question_id: asked.questionId, status: 'waiting', answers: 1, quorum: 2 } as const;
  t.deepEqual(await service.data(t, 'answerQuestion', answer(boris, asked)), first as never);
  t.deepEqual(await service.data(t, 'answerQuestion', answer(boris, asked)), first as never);
  await service.refused(t, answer(boris, asked, false), 409, 'CONFLICT');
  const [mine] = (await questionsOf(boris)).filter(({ thread_id: id }) => id === asked.thread);
  t.like(mine, { answers: 1, answered: true });
  t.like((await answer(clara, asked)).body.data, { status: 'answered', answers: 2 });
  t.is((await outcome(as('ada'), asked)).text, 'answer true by boris (v1), clara (v1)');
  const again = await service.data(t, 'answerQuestion', answer(clara, asked));
  t.deepEqual(again, { question_id: asked.questionId, status: 'answered', answers: 2, quorum: 2 } as never);
  await service.refused(t, answer(clara, asked, false), 404, 'RESOURCE_NOT_FOUND');
  await service.refused(t, answer(dora, asked), 404, 'RESOURCE_NOT_FOUND');

  const disputed = await pose(as('ada'), { to: ['manager'], quorum: 3 });
  await answer(boris, disputed);
  t.like((await answer(dora, disputed, false)).body.data, { status: 'differs', answers: 1, quorum: 3 });
  t.is((await outcome(as('ada'), disputed)).text, 'boris (v1), dora (v1) differ');
});

test('an answer counts as it was given, also when its caller has lost the role before the next one', async (t) => {
  const asked = await pose(as('ada'), { to: ['manager'], quorum: 2 });
  await answer(as('boris', 'manager'), asked);
  await service.refused(t, answer(as('boris'), asked, false), 404, 'RESOURCE_NOT_FOUND');
  t.like((await answer(as('clara', 'manager'), asked)).body.data, { status: 'answered', answers: 2 });
  t.is((await outcome(as('ada'), asked)).text, 'answer true by boris (v1), clara (v1)');
});

test('of two approvers at the same moment one begins the run', async (t) => {
  const asked = await pose(as('ada'));
  const replies = await Promise.all(['boris', 'clara', 'dora'].map((name) => answer(as(name, 'manager'), asked)));
  t.deepEqual(replies.map(({ status }) => status === 200).toSorted(), [false, false, true]);
  t.true(replies.every(({ status }) => [200, 404, 409].includes(status)));
  const { body } = await as('ada').send('GET', `/v1/threads/${asked.thread}/runs`);
  t.is((body.data as { readonly runs: readonly object[] }).runs.length, 2);
});

test('a stop that drops a question says so, in every protocol', async (t) => {
  const ada = as('ada');
  const send = async (path: string, body: object = {}): Promise<object> => {
    const { status, body: reply } = await ada.send('POST', path, body);
    if (status !== 200) throw new Error(JSON.stringify(reply));
    return 'data' in reply ? reply.data : reply;
  };
  const stops: readonly ((asked: Asked) => Promise<object>)[] = [
    ({ runId }) => send(`/v1/runs/${runId}/cancel`),
    ({ thread }) => send('/v1/graph/stop', { thread_id: thread }),
    ({ thread }) => send(`/agui/${testedAgent}/stop`, { threadId: thread }),
    ({ runId, thread }) => send(`/langgraph/threads/${thread}/runs/${runId}/cancel`),
    ({ runId }) => send(`/a2a/${testedAgent}/tasks/${runId}:cancel`),
  ];
  for (const [index, stop] of stops.entries()) {
    const asked = await pose(ada);
    const reply = await stop(asked);
    const text = JSON.stringify(reply);
    if (index < 4) t.true(text.includes(`uestions":["${asked.questionId}"]`), text);
    if (index < 2) t.like(reply, { success: true, status: 'interrupted' });
    if (index === 2) t.like(reply, { stopped: true });
    if (index === 4) t.regex(text, /TASK_STATE_CANCELED/);
    await service.refused(t, answer(as('boris', 'manager'), asked), 404, 'RESOURCE_NOT_FOUND');
  }
});

test('a fork, and a thread that is brought back, are stopped by their owner, in every protocol that stops threads', async (t) => {
  const [ada, boris] = [as('ada'), as('boris', 'manager')];
  const sent = async (path: string, body: object = {}): Promise<Readonly<Record<string, unknown>>> => {
    const { status, body: reply } = await ada.send('POST', path, body);
    if (status !== 200) throw new Error(JSON.stringify(reply));
    return 'data' in reply ? reply.data : reply;
  };
  const forked = async ({ thread }: Asked): Promise<string> =>
    String((await sent(`/v1/threads/${thread}/fork`))['thread_id']);
  const forkedOfDeleted = async (asked: Asked): Promise<string> => {
    const fork = await forked(asked);
    await ada.send('DELETE', `/v1/threads/${asked.thread}`);
    return fork;
  };
  const broughtBack = async (asked: Asked): Promise<string> => {
    const { thread } = asked;
    const { body } = await ada.send('GET', `/v1/threads/${thread}/checkpoints?limit=1`);
    const [checkpoint = {}] = (body.data as { readonly checkpoints: readonly object[] }).checkpoints;
    t.is((await answer(boris, asked)).status, 200);
    await outcome(ada, asked);
    await sent(`/v1/threads/${thread}/restore`, checkpoint);
    return thread;
  };
  for (const make of [forked, forkedOfDeleted, broughtBack])
    for (const isOfAgui of [false, true]) {
      const asked = await pose(ada);
      const thread = await make(asked);
      const open = (await questionsOf(boris)).filter(({ thread_id: id }) => id === thread);
      const [question] = open.map(({ question_id: id }) => id);
      const reply = isOfAgui
        ? await sent(`/agui/${testedAgent}/stop`, { threadId: thread })
        : await sent('/v1/graph/stop', { thread_id: thread });
      t.is(JSON.stringify(reply).includes(`uestions":["${String(question)}"]`), make !== forkedOfDeleted);
      const runId = make === broughtBack ? asked.runId : null;
      if (isOfAgui) t.true(reply['stopped']);
      else t.like(reply, { success: true, status: 'interrupted', run_id: runId });
      t.deepEqual(
        (await questionsOf(boris)).filter(({ thread_id: id }) => id === thread),
        [],
      );
      t.is(((await ada.send('GET', `/v1/threads/${thread}`)).body.data as { status: string }).status, 'idle');
      if (make === forked) await isStillOpen(t, asked);
    }
});

test('the owner stops the run that asked, and the node never runs on', async (t) => {
  const ada = as('ada');
  const asked = await pose(ada);
  const stopped = await service.data(t, 'cancelRun', ada.send('POST', `/v1/runs/${asked.runId}/cancel`, {}));
  t.like(stopped, { success: true, dropped_questions: [asked.questionId] });
  await service.refused(t, answer(as('boris', 'manager'), asked), 404, 'RESOURCE_NOT_FOUND');
  const body = { messages: [], resume: true, config: { thread_id: asked.thread } };
  await service.refused(t, ada.send('POST', '/v1/graph/invoke', body), 400, 'BAD_REQUEST');
});

test('an answer is one of the questions that are listed by age, deadline and agent', async (t) => {
  const hour = 3_600_000;
  const late = await pose(as('ada'), { to: ['manager'], deadline: 9 * hour, default: false });
  const soon = await pose(as('ada'), { to: ['manager'], deadline: hour, default: false });
  const boris = as('boris', 'manager');
  const ids = (await questionsOf(boris, '?sort=deadline')).map(({ question_id: id }) => id);
  t.true(ids.indexOf(soon.questionId) < ids.indexOf(late.questionId));
  const byAge = (await questionsOf(boris)).map(({ question_id: id }) => id);
  t.true(byAge.indexOf(late.questionId) < byAge.indexOf(soon.questionId));
  t.deepEqual(await questionsOf(boris, '?agent=other'), []);
  await service.refused(t, boris.send('GET', '/v1/questions?cursor=x'), 422, 'VALIDATION_ERROR');
  await service.data(t, 'listQuestions', boris.send('GET', '/v1/questions'));
});

test('an admin finds every question, one to a role that nobody has too, and reads what is asked where that is noted', async (t) => {
  const root = as('root', 'root');
  const asked = await pose(as('ada'), { to: ['managr'], notOwner: true });
  const [found] = (await questionsOf(root)).filter(({ thread_id: id }) => id === asked.thread);
  t.like(found, { to: ['managr'], value: null, masked: true });
  t.deepEqual(
    (await questionsOf(as('boris', 'manager'))).filter(({ thread_id: id }) => id === asked.thread),
    [],
  );
  t.is((await answer(root, asked)).status, 422);
  t.is((await answer(root, asked, true, { reason: ' ' })).status, 422);
  t.is((await answer(root, asked, true, { reason: 'nobody else can' })).status, 200);
  t.is((await outcome(as('ada'), asked)).text, 'answer true by root (v1)');
  const line = { user_id: 'root', action: 'answer', run_id: asked.runId, reason: 'nobody else can' };
  t.like((await root.send('GET', '/v1/admin/audit?limit=1')).body, line);
});

test('who has sent the request of the run that asks is left out as its owner is', async (t) => {
  const ada = as('ada');
  const boris = as('boris', 'manager');
  const first = await pose(ada, { to: ['manager'] });
  await answer(boris, first);
  await outcome(ada, first);
  const made = await ada.send('POST', `/v1/threads/${first.thread}/shares`, {
    to: { user: 'boris' },
    rights: ['read', 'write'],
  });
  t.true(made.status < 300, JSON.stringify(made.body));
  const { share_id: share } = made.body.data as { readonly share_id: string };
  const body = { messages: [user('{"to":["manager"],"notOwner":true}')] };
  const { status, body: reply } = await boris.send('POST', `/v1/shared/${share}/invoke`, body);
  t.is(status, 200, JSON.stringify(reply));
  const [found] = (await questionsOf(as('clara', 'manager'))).filter(({ thread_id: id }) => id === first.thread);
  const asked = { questionId: found?.question_id ?? '' };
  t.deepEqual(
    (await questionsOf(boris)).filter(({ thread_id: id }) => id === first.thread),
    [],
  );
  await service.refused(t, answer(boris, asked), 404, 'RESOURCE_NOT_FOUND');
  t.is((await answer(as('clara', 'manager'), asked)).status, 200);
});
