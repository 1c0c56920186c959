import { HttpAgent } from '@ag-ui/client';
import test from 'ava';
import { serve } from '../../http/service.ts';
import { agentAt } from '../../servers/standalone.ts';
import { audience, goodClaims, issuer, makeToken } from '../../servers/tokens.ts';

const secret = 'a secret that is long enough for any of them, 64 bytes and more!!';
const env = { JWT_ALGORITHM: 'HS256', JWT_SECRET_KEY: secret, JWT_ISSUER: issuer, JWT_AUDIENCE: audience };
const service = serve(test, null, env, {
  auth: 'jwt',
  access: { roles: { manager: { is: 'approver' } } },
  agents: { approving: agentAt('approving') },
  default_agent: 'approving',
});

const headersOf = (sub: string, roles: readonly string[] = []): Record<string, string> => ({
  authorization: `Bearer ${makeToken('HS256', secret, { claims: goodClaims({ user_id: sub, roles }) })}`,
});

/** AG-UI's own agent of a customer, whose question to the manager is open. */
async function openAsked(sub: string, state: object = {}) {
  const url = `${service.url()}/agui/approving`;
  const agent = new HttpAgent({ url, threadId: `${sub}-thread`, headers: headersOf(sub), initialState: state });
  agent.addMessage({ id: `${sub}-asks`, role: 'user', content: 'Pay' });
  await agent.runAgent();
  return agent;
}

const send = async (method: string, path: string, headers: Record<string, string>, body?: object) =>
  (await (
    await fetch(`${service.url()}${path}`, {
      method,
      headers: { ...headers, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
  ).json()) as { readonly data: Readonly<Record<string, unknown>> };

/** How many questions of a customer are open. */
async function askedOf(sub: string): Promise<number> {
  const { data } = await send('GET', '/v1/questions', headersOf('mia', ['manager']));
  const questions = data['questions'] as readonly { readonly asked_for: string }[];
  return questions.filter(({ asked_for: owner }) => owner === sub).length;
}

/** The manager says yes to what a customer asks. */
async function approve(sub: string): Promise<void> {
  const manager = headersOf('mia', ['manager']);
  const { data } = await send('GET', '/v1/questions', manager);
  const questions = data['questions'] as readonly { readonly question_id: string; readonly asked_for: string }[];
  const asked = questions.find(({ asked_for: owner }) => owner === sub);
  if (!asked) throw new Error('nothing is asked');
  await send('POST', `/v1/questions/${encodeURIComponent(asked.question_id)}/answer`, manager, { answer: true });
}

/** As a page has to, before it may go on: an entry for each question that it holds open. */
const resumeOf = (agent: HttpAgent, status: 'cancelled' | 'resolved' = 'cancelled') =>
  agent.pendingInterrupts.map(({ id }) => ({
    interruptId: id,
    status,
    ...(status === 'resolved' && { payload: true }),
  }));

const shown = (agent: HttpAgent): unknown[] => agent.messages.map(({ role, content }) => [role, content]);

test('a page that holds a question open which others have answered gets what came of it, and goes on', async (t) => {
  const agent = await openAsked('ada');
  t.is(agent.pendingInterrupts.length, 1);
  await t.throwsAsync(agent.runAgent({ resume: resumeOf(agent) }), { message: /waits for an answer of manager/ });
  t.is(agent.pendingInterrupts.length, 1);

  await approve('ada');
  await agent.runAgent({ resume: resumeOf(agent, 'resolved') });
  t.deepEqual(shown(agent), [
    ['user', 'Pay'],
    ['assistant', 'paid'],
  ]);
  t.deepEqual(agent.state, { way: '', approved: true });
  t.is(agent.pendingInterrupts.length, 0);
  agent.addMessage({ id: 'ada-more', role: 'user', content: 'Once more' });
  await agent.runAgent();
  t.is(agent.pendingInterrupts.length, 1);
});

test('a page whose question others have answered goes on with a new message, and its old state changes nothing', async (t) => {
  const agent = await openAsked('bob');
  await approve('bob');
  agent.addMessage({ id: 'bob-more', role: 'user', content: 'Once more' });
  await agent.runAgent({ resume: resumeOf(agent) });
  t.is(agent.pendingInterrupts.length, 1);
  const { data } = await send('GET', '/v1/threads/bob-thread/messages', headersOf('bob'));
  const messages = data['messages'] as readonly { readonly role: string }[];
  t.deepEqual(
    messages.map(({ role }) => role),
    ['user', 'assistant', 'user'],
  );
  t.like(agent.state, { approved: true });
});

test('a page whose message was refused while others were asked gets their answer with the run of that message, which asks once', async (t) => {
  const agent = await openAsked('finn');
  agent.addMessage({ id: 'finn-waits', role: 'user', content: 'Any news?' });
  await t.throwsAsync(agent.runAgent({ resume: resumeOf(agent) }), { message: /waits for an answer of manager/ });
  await t.throwsAsync(agent.runAgent({ resume: resumeOf(agent) }), { message: /waits for an answer of manager/ });
  await approve('finn');
  await agent.runAgent({ resume: resumeOf(agent) });
  t.deepEqual(shown(agent), [
    ['user', 'Pay'],
    ['assistant', 'paid'],
    ['user', 'Any news?'],
  ]);
  t.is(await askedOf('finn'), 1);
  await approve('finn');
  await agent.runAgent({ resume: resumeOf(agent) });
  t.deepEqual(shown(agent).slice(2), [
    ['user', 'Any news?'],
    ['assistant', 'paid'],
  ]);
  t.is(await askedOf('finn'), 0);
});

test('a page that goes on without the messages of the thread that it lacks is shown them first, and a page that has them is not', async (t) => {
  const before = await openAsked('gus');
  await approve('gus');
  const url = `${service.url()}/agui/approving`;
  const page = new HttpAgent({ url, threadId: 'gus-thread', headers: headersOf('gus') });
  page.messages = [...before.messages, { id: 'gus-thanks', role: 'user', content: 'Thanks' }];
  const types: string[] = [];
  const note = { onEvent: ({ event }: { readonly event: { readonly type: string } }) => void types.push(event.type) };
  await page.runAgent({}, note);
  t.deepEqual(shown(page), [
    ['user', 'Pay'],
    ['assistant', 'paid'],
    ['user', 'Thanks'],
  ]);
  t.deepEqual(types.slice(0, 4), ['RUN_STARTED', 'STATE_SNAPSHOT', 'MESSAGES_SNAPSHOT', 'MESSAGES_SNAPSHOT']);
  await approve('gus');
  await page.runAgent({ resume: resumeOf(page) });
  types.length = 0;
  page.addMessage({ id: 'gus-more', role: 'user', content: 'Once more' });
  await page.runAgent({}, note);
  t.false(types.includes('MESSAGES_SNAPSHOT'));
});

test('of several answers the page gets one after the other', async (t) => {
  const agent = await openAsked('cleo', { way: 'ask' });
  await approve('cleo');
  await agent.runAgent({ resume: resumeOf(agent) });
  t.deepEqual(
    agent.pendingInterrupts.map(({ message }) => message),
    ['To which account?'],
  );
  await agent.runAgent({ resume: resumeOf(agent, 'resolved') });
  t.deepEqual(shown(agent).at(-1), ['assistant', 'paid']);
});

test('a question that was dropped is given up with the next message', async (t) => {
  const agent = await openAsked('dora');
  await send('POST', '/agui/approving/stop', headersOf('dora'), { threadId: 'dora-thread' });
  await t.throwsAsync(agent.runAgent({ resume: resumeOf(agent) }), { message: /answers no open question/ });
  agent.addMessage({ id: 'dora-more', role: 'user', content: 'Once more' });
  await agent.runAgent({ resume: resumeOf(agent) });
  t.is(agent.pendingInterrupts.length, 1);
});

test('a state that is older than the thread may hold fields that callers only read', async (t) => {
  const agent = await openAsked('eve');
  await approve('eve');
  const page = new HttpAgent({
    ...{ url: `${service.url()}/agui/approving`, threadId: 'eve-thread', headers: headersOf('eve') },
    initialState: { way: '', approved: false },
  });
  page.addMessage({ id: 'eve-more', role: 'user', content: 'Once more' });
  await page.runAgent();
  t.like(page.state, { approved: true });
  t.is(agent.pendingInterrupts.length, 1);
});
