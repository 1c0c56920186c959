import test from 'ava';
import { modern, tasks } from '../dialects/mcp/service.ts';
import { testedAgent } from '../servers/standalone.ts';
import { audience, goodClaims, issuer, makeToken } from '../servers/tokens.ts';
import { serve } from './service.ts';

const secret = 'a secret that is long enough for any of them, 64 bytes and more!!';
const env = { JWT_ALGORITHM: 'HS256', JWT_SECRET_KEY: secret, JWT_ISSUER: issuer, JWT_AUDIENCE: audience };
const service = serve(test, 'asking-others', env, { auth: 'jwt', access: { roles: { manager: { is: 'approver' } } } });

const headersOf = (sub: string, roles: readonly string[]) => ({
  authorization: `Bearer ${makeToken('HS256', secret, { claims: goodClaims({ user_id: sub, roles }) })}`,
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  'a2a-version': '1.0',
});

/** The text of the reply to a customer, who has these roles. */
async function sent(path: string, body: object, more: object = {}, roles: readonly string[] = []): Promise<string> {
  const reply = await fetch(`${service.url()}${path}`, {
    method: 'POST',
    headers: { ...headersOf('ada', roles), ...more },
    body: JSON.stringify(body),
  });
  return reply.text();
}

const byManagers = JSON.stringify({ to: ['manager'], notOwner: true });
const mine = JSON.stringify({ to: ['manager'] });

/** What stands beside a question to others. */
const addressed = '"to":["manager"],"not_owner":true';

test('below /langgraph a question says that others are asked', async (t) => {
  const input = { messages: [{ role: 'user', content: byManagers }] };
  const order = { assistant_id: testedAgent, input, if_not_exists: 'create' };
  const waited = await sent('/langgraph/threads/6f1c2c1e-0000-4000-8000-000000000001/runs/wait', order);
  t.true(waited.includes(addressed), waited);
  const stream = { ...order, stream_mode: ['updates', 'tasks'] };
  const streamed = await sent('/langgraph/threads/6f1c2c1e-0000-4000-8000-000000000002/runs/stream', stream);
  t.true(streamed.includes(addressed), streamed);
  const state = await fetch(`${service.url()}/langgraph/threads/6f1c2c1e-0000-4000-8000-000000000001/state`, {
    headers: headersOf('ada', []),
  });
  t.true((await state.text()).includes(addressed));
});

test('AG-UI has no form for who may not answer, and says who is asked', async (t) => {
  const messages = [{ id: 'm1', role: 'user', content: byManagers }];
  const order = { threadId: 'agui', runId: 'r1', messages, tools: [], context: [], state: {}, forwardedProps: {} };
  const text = await sent(`/agui/${testedAgent}`, order);
  t.true(text.includes(addressed), text);
  t.false(text.includes('responseSchema'));
});

test('A2A says whom the task waits for', async (t) => {
  const message = { messageId: 'm1', role: 'ROLE_USER', parts: [{ text: byManagers }] };
  const text = await sent(`/a2a/${testedAgent}/message:send`, { message });
  t.true(text.includes(addressed), text);
  t.true(text.includes('waits for an answer of manager'));
});

test('the function of an OpenAI client says who is asked', async (t) => {
  const order = { model: testedAgent, messages: [{ role: 'user', content: byManagers }] };
  const text = JSON.parse(await sent('/openai/v1/chat/completions', order)) as object;
  t.true(JSON.stringify(text).includes(String.raw`\"to\":[\"manager\"],\"not_owner\":true`), JSON.stringify(text));
});

test('MCP asks who may answer, and tells anybody else that others are asked', async (t) => {
  const called = async (message: string, capabilities: object, roles: readonly string[] = []): Promise<string> => {
    const given = { name: testedAgent, arguments: { message } };
    const { message: body, headers } = modern('tools/call', given, { ...capabilities });
    return sent('/mcp', body, headers, roles);
  };
  const asking = { elicitation: { form: {} } };
  const others = await called(byManagers, asking);
  t.regex(others, /"isError":true/);
  t.regex(others, /goes on when they have answered.*waits for an answer of manager/);
  t.false(others.includes('elicitation/create'), others);
  t.regex(await called(mine, asking, ['manager']), /elicitation\/create/);
  t.regex(await called(mine, asking), /waits for an answer of manager/);
  const task = JSON.parse(await called(byManagers, tasks)) as { readonly result: { readonly taskId: string } };
  const { message: body, headers } = modern('tasks/get', { taskId: task.result.taskId }, tasks);
  const isAsking = (text: string): boolean => text.includes('"statusMessage":"waits for an answer of manager"');
  let text = await sent('/mcp', body, headers);
  for (let tries = 0; tries < 100 && !isAsking(text); tries++) text = await sent('/mcp', body, headers);
  t.true(isAsking(text), text);
  t.regex(text, /"status":"working"/);
});
