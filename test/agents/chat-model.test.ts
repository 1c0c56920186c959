import { chatModel, type AnswerPart, type ChatModelOptions, type ModelQuestion } from '@agent-workflow/graph';
import { user } from '@agent-workflow/graph/testing';
import test, { type ExecutionContext } from 'ava';
import { byLoad } from '../by-load.ts';
import { startOpenaiChat, type OpenaiChat, type ScriptedReply } from '../servers/openai-chat.ts';

const question: ModelQuestion = { instructions: '', messages: [user('Hello')], tools: [] };

async function answerOf(
  t: ExecutionContext,
  reply: ScriptedReply,
  options: Partial<ChatModelOptions> & { readonly question?: ModelQuestion } = {},
): Promise<{ readonly parts: readonly AnswerPart[]; readonly server: OpenaiChat }> {
  const server = await startOpenaiChat([reply]);
  t.teardown(() => server[Symbol.asyncDispose]());
  const { question: asked = question, ...rest } = options;
  const model = chatModel({ model: 'small-1', baseUrl: server.baseUrl, ...rest });
  return { parts: await Array.fromAsync(model.answer(asked, new AbortController().signal)), server };
}

const stop: AnswerPart = { type: 'finish', reason: 'stop' };
const usage = { prompt_tokens: 12, completion_tokens: 3 };

test('the tokens that the API counts end the answer', async (t) => {
  const { parts } = await answerOf(t, { text: 'Good day', usage });
  t.deepEqual(parts, [
    { type: 'text', text: 'Good' },
    { type: 'text', text: ' day' },
    { type: 'usage', model: 'small-1', inputTokens: 12, outputTokens: 3 },
    stop,
  ]);
});

test('an API that counts no tokens gives no usage', async (t) => {
  const { parts } = await answerOf(t, { text: 'Good' });
  t.deepEqual(parts, [{ type: 'text', text: 'Good' }, stop]);
});

test('parameters are members of the request, and may take its members away', async (t) => {
  const parameters = { temperature: 0, stream_options: undefined };
  const { parts, server } = await answerOf(t, { text: 'Good', usage }, { parameters });
  t.is(server.requests[0]?.body.temperature, 0);
  t.false('stream_options' in (server.requests[0]?.body ?? {}));
  t.deepEqual(parts, [{ type: 'text', text: 'Good' }, stop]);
});

test('without a key no credential is sent, and without tools no tools', async (t) => {
  const { server } = await answerOf(t, { text: 'Good' });
  t.is(server.requests[0]?.authorization, undefined);
  t.false('tools' in (server.requests[0]?.body ?? {}));
});

test('a question with a schema asks for JSON of that schema', async (t) => {
  const schema = { type: 'object', properties: { mood: { type: 'string' } } };
  const { server } = await answerOf(t, { text: '{}' }, { question: { ...question, schema } });
  t.deepEqual(server.requests[0]?.body.response_format, {
    type: 'json_schema',
    json_schema: { name: 'answer', schema },
  });
});

test('an answer that takes longer than its timeout fails', async (t) => {
  await t.throwsAsync(answerOf(t, { breaksOff: 'never' }, { timeoutMs: 50 }), {
    message: 'the model took too long to answer',
  });
});

test('a failure names the settings as their operator does', async (t) => {
  const names = { apiKey: 'MY_KEY' };
  await t.throwsAsync(answerOf(t, { status: 401 }, { names }), {
    message: 'the model refused the key (401): check MY_KEY',
  });
  await t.throwsAsync(answerOf(t, { status: 403 }, { names }), {
    message: 'the key may not use the model (403): check MY_KEY and model',
  });
});

const refused = { message: 'the model refused the request (400)' };

test('a provider that refuses the largest image is told apart from an answer that is too long', async (t) => {
  const data = Buffer.alloc(10 * 1024 * 1024 - 8, 'image').toString('base64');
  const image = { role: 'user', content: [{ type: 'image', media_type: 'image/png', data }] } as const;
  const asked = { ...question, messages: [{ ...user(''), ...image }] };
  await t.throwsAsync(answerOf(t, { status: 400 }, { question: asked }), refused);
});

test('a refusal is read at once, whatever words the conversation has', async (t) => {
  const asked = { ...question, messages: [user(`${'a'.repeat(4095)} `.repeat(512))] };
  const start = performance.now();
  await t.throwsAsync(answerOf(t, { status: 400 }, { question: asked }), refused);
  t.true(performance.now() - start < byLoad(3000));
});
