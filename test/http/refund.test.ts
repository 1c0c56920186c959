import { fileURLToPath } from 'node:url';
import test from 'ava';
import { createClient, user, type Client } from '../servers/client.ts';
import { testedAgent } from '../servers/standalone.ts';
import { audience, goodClaims, issuer, makeToken } from '../servers/tokens.ts';
import { serve } from './service.ts';

const secret = 'a secret that is long enough for any of them, 64 bytes and more!!';
const env = { JWT_ALGORITHM: 'HS256', JWT_SECRET_KEY: secret, JWT_ISSUER: issuer, JWT_AUDIENCE: audience };
const config = {
  auth: 'jwt',
  access: { roles: { manager: { is: 'approver' } } },
  agent: `${fileURLToPath(new URL('../cookbook/agents/refund.ts', import.meta.url))}:graph`,
};
const service = serve(test, null, { ...env, RATE_LIMIT_AUTH_FAILURES: '0', RATE_LIMIT_REQUESTS: '0' }, config);

const as = (sub: string, ...roles: string[]): Client =>
  createClient(service.url(), {
    authorization: `Bearer ${makeToken('HS256', secret, { claims: goodClaims({ user_id: sub, roles }) })}`,
  });

interface Refund {
  readonly thread: string;
  readonly runId: string;
  readonly interruptId: string;
  readonly questionId: string;
}

let count = 0;
async function refund(): Promise<Refund> {
  const thread = `refund-${String(++count)}`;
  const body = { messages: [user('Refund my order of 899 EUR')], config: { thread_id: thread } };
  const { data } = (await as('ada').send('POST', '/v1/graph/invoke', body)).body;
  const { meta } = data as { readonly meta: { run_id: string; interrupts: readonly { id: string }[] } };
  const { body: listed } = await as('boris', 'manager').send('GET', '/v1/questions');
  const { questions } = listed.data as { questions: readonly { thread_id: string; question_id: string }[] };
  const questionId = questions.find(({ thread_id: id }) => id === thread)?.question_id ?? '';
  return { thread, runId: meta.run_id, interruptId: meta.interrupts[0]?.id ?? '', questionId };
}

const answerTo = (client: Client, questionId: string) =>
  client.send('POST', `/v1/questions/${questionId}/answer`, { answer: true });

/** A way in which a customer tries to have the refund without a manager: what is sent, and the status that it gets. */
type Way = (refund: Refund, customer: Client) => Promise<readonly [status: number, expected: number]>;

const sent =
  (expected: number, send: (refund: Refund, customer: Client) => Promise<{ readonly status: number }>): Way =>
  async (of, customer) => [(await send(of, customer)).status, expected];

const ways: Readonly<Record<string, Way>> = {
  'by its answer': sent(403, ({ thread }, ada) =>
    ada.send('POST', '/v1/graph/invoke', { messages: [], resume: true, config: { thread_id: thread } }),
  ),
  'by an answer that is named': sent(403, ({ thread, interruptId }, ada) =>
    ada.send('POST', '/v1/runs', { messages: [], resume: { [interruptId]: true }, config: { thread_id: thread } }),
  ),
  'by the state': sent(422, ({ thread }, ada) =>
    ada.send('POST', `/v1/threads/${thread}/state`, { state: { isApproved: true }, config: {} }),
  ),
  'by the amount': sent(422, ({ thread }, ada) =>
    ada.send('POST', `/v1/threads/${thread}/state`, { state: { amount: 1 }, config: {} }),
  ),
  'by a replaced state': sent(422, ({ thread }, ada) =>
    ada.send('PUT', `/v1/threads/${thread}/state`, { state: { isApproved: true }, mode: 'replace', config: {} }),
  ),
  'by an initial state': sent(422, (_refund, ada) =>
    ada.send('POST', '/v1/graph/invoke', { messages: [user('Refund 899')], initial_state: { isApproved: true } }),
  ),
  'by a fork': sent(403, async ({ thread }, ada) => {
    const { body } = await ada.send('GET', `/v1/threads/${thread}/checkpoints?limit=1`);
    const { checkpoints } = body.data as { readonly checkpoints: readonly { readonly checkpoint_id: string }[] };
    const at = { checkpoint_id: checkpoints[0]?.checkpoint_id };
    const { data } = (await ada.send('POST', `/v1/threads/${thread}/fork`, at)).body;
    const { thread_id: forked } = data as { readonly thread_id: string };
    return ada.send('POST', '/v1/graph/invoke', { messages: [], resume: true, config: { thread_id: forked } });
  }),
  'by a message': sent(409, ({ thread }, ada) =>
    ada.send('POST', '/v1/graph/invoke', { messages: [user('Refund 1')], config: { thread_id: thread } }),
  ),
  'by a command of LangGraph': sent(403, ({ thread }, ada) =>
    ada.send('POST', `/langgraph/threads/${thread}/runs/wait`, {
      assistant_id: testedAgent,
      command: { resume: true },
    }),
  ),
  'by a run of AG-UI': sent(403, ({ thread, interruptId }, ada) =>
    ada.send('POST', `/agui/${testedAgent}`, {
      ...{ threadId: thread, runId: 'answer', messages: [], tools: [], context: [], state: {}, forwardedProps: {} },
      resume: [{ interruptId, status: 'resolved', payload: true }],
    }),
  ),
  'by a message of A2A': sent(403, ({ runId }, ada) =>
    ada.send(
      'POST',
      `/a2a/${testedAgent}/message:send`,
      { message: { messageId: 'answer', role: 'ROLE_USER', taskId: runId, parts: [{ text: 'true' }] } },
      { 'A2A-Version': '1.0' },
    ),
  ),
  'by a completion of OpenAI': sent(400, ({ thread }, ada) =>
    ada.send('POST', '/openai/v1/chat/completions', {
      ...{ model: testedAgent, messages: [user('Refund 1')], metadata: { thread_id: thread } },
    }),
  ),
  'by a second account without the role': sent(404, ({ questionId }) => answerTo(as('eve'), questionId)),
  'by herself, with the role': sent(404, ({ questionId }) => answerTo(as('ada', 'manager'), questionId)),
  'by a ticket': sent(401, async ({ runId, questionId }, ada) => {
    const { data } = (await ada.send('POST', `/v1/runs/${runId}/ticket`, {})).body;
    const { ticket } = data as { readonly ticket: string };
    return createClient(service.url()).send('POST', `/v1/questions/${questionId}/answer?ticket=${ticket}`, {
      answer: true,
    });
  }),
  'by a share to another account of hers': sent(403, async ({ thread }, ada) => {
    const to = { to: { user: 'eve' }, rights: ['read', 'write', 'answer'] };
    const { data } = (await ada.send('POST', `/v1/threads/${thread}/shares`, to)).body;
    const { share_id: share } = data as { readonly share_id: string };
    return as('eve').send('POST', `/v1/shared/${share}/invoke`, { resume: true });
  }),
  'by trying the run again': sent(409, ({ runId }, ada) => ada.send('POST', `/v1/runs/${runId}/retry`, {})),
  'by an old id of a question': sent(404, async (_refund, ada) => {
    const before = await refund();
    await ada.send('POST', `/v1/runs/${before.runId}/cancel`, {});
    return answerTo(as('boris', 'manager'), before.questionId);
  }),
};

for (const [way, attempt] of Object.entries(ways))
  test.serial(`a customer gets no refund ${way}`, async (t) => {
    const of = await refund();
    const [status, expected] = await attempt(of, as('ada'));
    t.is(status, expected);
    const { body } = await as('ada').send('GET', `/v1/threads/${of.thread}/state`);
    t.like((body.data as { readonly state: object }).state, { isApproved: false, amount: 899 });
    t.is((await answerTo(as('boris', 'manager'), of.questionId)).status, 200);
  });

test('a manager approves it, and the record says who', async (t) => {
  const { thread, questionId } = await refund();
  t.is((await answerTo(as('boris', 'manager'), questionId)).status, 200);
  const ada = as('ada');
  const { run_id: runId } = (await ada.send('GET', `/v1/threads/${thread}`)).body.data as { readonly run_id: string };
  const { body } = await ada.send('GET', `/v1/runs/${runId}/wait`);
  t.regex(JSON.stringify(body.data), /Refunded 899 EUR, approved by boris\./);
  const run = (await ada.send('GET', `/v1/runs/${runId}`)).body.data as { answered_by: readonly object[] };
  t.like(run.answered_by[0], { by: 'boris', client: 'v1' });
  t.is((await as('boris', 'manager').send('GET', `/v1/threads/${thread}`)).status, 404);
});

test('the customer gives it up by cancelling the task, and nobody answers any more', async (t) => {
  const { thread, runId, questionId } = await refund();
  const headers = { 'A2A-Version': '1.0' };
  const path = `/a2a/${testedAgent}/tasks/${runId}:cancel`;
  const { status, body } = await as('ada').send('POST', path, {}, headers);
  t.is(status, 200, JSON.stringify(body));
  t.is((await answerTo(as('boris', 'manager'), questionId)).status, 404);
  const state = (await as('ada').send('GET', `/v1/threads/${thread}/state`)).body.data as { readonly state: object };
  t.like(state.state, { isApproved: false });
});
