import OpenAI from 'openai';
import test from 'ava';
import { serve } from '../../http/service.ts';
import { agentAt } from '../../servers/standalone.ts';
import { audience, goodClaims, issuer, makeToken } from '../../servers/tokens.ts';
import { until } from '../../until.ts';
import { user } from './service.ts';

const secret = 'a secret that is long enough for any of them, 64 bytes and more!!';
const env = { JWT_ALGORITHM: 'HS256', JWT_SECRET_KEY: secret, JWT_ISSUER: issuer, JWT_AUDIENCE: audience };
const service = serve(test, null, env, {
  auth: 'jwt',
  access: { roles: { manager: { is: 'approver' } } },
  agents: { asking: agentAt('asking-others'), obedient: agentAt('obedient') },
  default_agent: 'asking',
});

const model = 'asking';
const byManagers = JSON.stringify({ to: ['manager'], notOwner: true });

const tokenOf = (sub: string, roles: readonly string[] = []): string =>
  makeToken('HS256', secret, { claims: goodClaims({ user_id: sub, roles }) });

const clientOf = (sub: string): OpenAI =>
  new OpenAI({ baseURL: `${service.url()}/openai/v1`, apiKey: tokenOf(sub), maxRetries: 0 });

interface Asked {
  readonly question_id: string;
  readonly asked_for: string;
  readonly run_id: string;
}

async function asManager<T>(method: string, path: string, body?: object): Promise<T> {
  const reply = await fetch(`${service.url()}${path}`, {
    method,
    headers: { authorization: `Bearer ${tokenOf('mia', ['manager'])}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  return ((await reply.json()) as { readonly data: T }).data;
}

/** The open questions that the runs of a customer ask the manager. */
const questionsOf = async (sub: string): Promise<readonly Asked[]> =>
  (await asManager<{ readonly questions: readonly Asked[] }>('GET', '/v1/questions')).questions.filter(
    ({ asked_for: owner }) => owner === sub,
  );

/** The manager says yes to the one question of a customer. */
async function approve(sub: string): Promise<void> {
  const [question, ...more] = await questionsOf(sub);
  if (!question || more.length > 0) throw new Error('there is not one question');
  await asManager('POST', `/v1/questions/${encodeURIComponent(question.question_id)}/answer`, { answer: true });
}

test('a response that asked others goes on behind their answer, and says who is asked while there is none', async (t) => {
  const { responses } = clientOf('ada');
  const asked = await responses.create({ model, input: byManagers });
  const next = (input: OpenAI.Responses.ResponseInput | string) =>
    responses.create({ model, input, previous_response_id: asked.id });
  const [call] = asked.output;
  if (call?.type !== 'function_call') throw new Error('nothing is asked');
  const output = { type: 'function_call_output' as const, call_id: call.call_id, output: 'true' };
  await t.throwsAsync(next('any news?'), { message: /^400 .*waits for an answer of manager/ });
  await t.throwsAsync(next([output]), { message: /^403 .*waits for an answer of manager/ });
  t.is((await questionsOf('ada')).length, 1);

  await approve('ada');
  const answered = await next([output]);
  t.is(answered.output_text, 'answer true by mia (v1)');
  t.deepEqual(await questionsOf('ada'), []);
  // The thread goes on as it is, not a copy of it that asks the same again.
  const more = await next([output, { role: 'user', content: byManagers }]);
  const [again] = await questionsOf('ada');
  t.is(again?.run_id.replaceAll('-', ''), more.id.replace('resp_', ''));
  t.is((await questionsOf('ada')).length, 1);
  t.deepEqual(await rolesIn(asked.id, 'ada'), ['user', 'assistant', 'user']);
});

test('a response in the background that asked others is in progress until they have answered, and then has what came of it', async (t) => {
  const { responses } = clientOf('gus');
  const begun = await responses.create({ model, input: byManagers, background: true });
  const retrieve = () => responses.retrieve(begun.id);
  await until(async () => (await questionsOf('gus')).length === 1);
  const waiting = await retrieve();
  t.like(waiting, { status: 'in_progress', completed_at: null, output: [{ name: 'answer_question' }] });
  await approve('gus');
  await until(async () => (await retrieve()).status !== 'in_progress');
  const done = await retrieve();
  t.deepEqual([done.status, done.output_text, done.output.length], ['completed', 'answer true by mia (v1)', 1]);
  const more = await responses.create({ model, input: byManagers, previous_response_id: begun.id });
  t.deepEqual(await rolesIn(more.id, 'gus'), ['user', 'assistant', 'user']);

  const other = await responses.create({ model, input: byManagers, background: true });
  await until(async () => (await questionsOf('gus')).length === 2);
  t.is((await responses.cancel(other.id)).status, 'cancelled');
  t.is((await responses.retrieve(other.id)).status, 'cancelled');
  t.is((await questionsOf('gus')).length, 1);
});

async function rolesIn(responseId: string, sub: string): Promise<readonly string[]> {
  const runId = responseId.replace(/^resp_(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  const headers = { authorization: `Bearer ${tokenOf(sub)}` };
  const get = async <T>(path: string): Promise<T> =>
    ((await (await fetch(`${service.url()}${path}`, { headers })).json()) as { readonly data: T }).data;
  const { thread_id: threadId } = await get<{ readonly thread_id: string }>(`/v1/runs/${runId}`);
  const { messages } = await get<{ readonly messages: readonly { readonly role: string }[] }>(
    `/v1/threads/${threadId}/messages`,
  );
  return messages.map(({ role }) => role);
}

test('a chat that asked others asks them once, whatever is sent behind the question, and gets the result when they have answered', async (t) => {
  const { completions } = clientOf('bob').chat;
  const first = await completions.create({ model, messages: [user(byManagers)] });
  const message = first.choices[0]?.message;
  const [call] = message?.tool_calls ?? [];
  if (!message || !call) throw new Error('nothing is asked');
  const result = { role: 'tool' as const, tool_call_id: call.id, content: 'true' };
  type Behind = OpenAI.Chat.Completions.ChatCompletionMessageParam[];
  const send = (...behind: Behind) => completions.create({ model, messages: [user(byManagers), message, ...behind] });
  t.deepEqual((await send()).choices, first.choices);
  t.is((await completions.create({ model, messages: [user(byManagers)] })).id, first.id);
  const tools = [{ type: 'function' as const, function: { name: 'look', parameters: { type: 'object' } } }];
  t.is((await completions.create({ model, messages: [user(byManagers)], tools })).id, first.id);
  await t.throwsAsync(send(result), { message: /^403 .*waits for an answer of manager/ });
  await t.throwsAsync(send(user('any news?')), { message: /^400 .*waits for an answer of manager/ });
  t.is((await questionsOf('bob')).length, 1);

  await approve('bob');
  const answered = await send();
  t.is(answered.choices[0]?.message.content, 'answer true by mia (v1)');
  t.is((await send(result)).id, answered.id);
  t.is((await completions.create({ model, messages: [user(byManagers)] })).id, answered.id);
  let streamed = '';
  for await (const { choices } of await completions.create({
    ...{ model, messages: [user(byManagers), message, result], stream: true as const },
  }))
    streamed += choices[0]?.delta.content ?? '';
  t.is(streamed, 'answer true by mia (v1)');
  t.deepEqual(await questionsOf('bob'), []);
});

test('a question that its owner has stopped is asked anew by the same request', async (t) => {
  const { completions } = clientOf('ines').chat;
  const complete = () => completions.create({ model, messages: [user(byManagers)] });
  const first = await complete();
  const [stopped] = await questionsOf('ines');
  await fetch(`${service.url()}/v1/runs/${String(stopped?.run_id)}/cancel`, {
    method: 'POST',
    headers: { authorization: `Bearer ${tokenOf('ines')}` },
  });
  t.deepEqual(await questionsOf('ines'), []);
  t.not((await complete()).id, first.id);
  t.is((await questionsOf('ines')).length, 1);
});

test('a conversation that asked nobody else is a run of its own each time', async (t) => {
  const { completions } = clientOf('finn').chat;
  const greet = () => completions.create({ model: 'obedient', messages: [user('hello')] });
  const all = [await greet(), await greet(), ...(await Promise.all([greet(), greet()]))];
  t.is(new Set(all.map(({ id }) => id)).size, 4);
  t.deepEqual([...new Set(all.map(({ choices }) => choices[0]?.message.content))], ['you said hello']);
});

test('what others have answered is a result of its own model and its own caller alone', async (t) => {
  const { completions } = clientOf('cleo').chat;
  const first = await completions.create({ model, messages: [user(byManagers)] });
  const message = first.choices[0]?.message;
  if (!message) throw new Error('nothing is asked');
  await approve('cleo');
  const foreign = await clientOf('dora').chat.completions.create({ model, messages: [user(byManagers), message] });
  t.is(foreign.choices[0]?.finish_reason, 'tool_calls');
  t.not(foreign.id, first.id);
});
