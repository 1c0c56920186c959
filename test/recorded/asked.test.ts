import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { chatModel, type ChatModelOptions } from '@agent-workflow/graph';
import test from 'ava';
import { answerOf, finishOf, joined, playAgent } from './played.ts';
import { call, chunk, paris, refused, stream } from './providers/provider.ts';
import { deepseek } from './providers/deepseek.ts';
import { openai } from './providers/openai.ts';
import type { Reply } from './providers/provider.ts';
import { startReplay } from './replay.ts';

test('headers of an author are sent, and take the place of those that are sent anyway (nowledge-co#587)', async (t) => {
  const { baseUrl, requests } = await startReplay(t, openai.text);
  const headers = { 'x-team': 'a', Authorization: 'Basic b', 'api-key': 'c' };
  await answerOf(chatModel({ model: 'm', baseUrl, apiKey: 'sk-d', headers }));
  t.like(requests[0]?.headers, {
    'x-team': 'a',
    authorization: 'Basic b',
    'api-key': 'c',
    'content-type': 'application/json',
  });
});

test('a query of the address stays behind the path, as Azure has it', async (t) => {
  const { baseUrl, requests } = await startReplay(t, openai.text);
  await answerOf(chatModel({ model: 'm', baseUrl: `${baseUrl}/?api-version=2024-10-21` }));
  t.is(requests[0]?.url, '/v1/chat/completions?api-version=2024-10-21');
});

/** The whole reply of a server that does not stream. */
const whole: Reply = {
  type: 'application/json',
  body: JSON.stringify({
    id: 'c',
    object: 'chat.completion',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: null, tool_calls: [call(undefined, 'a', 'weather', paris)] },
        finish_reason: 'tool_calls',
      },
    ],
    usage: { prompt_tokens: 5, completion_tokens: 2 },
  }),
};

test('stream: false asks for a whole reply (Dive#90, pydantic-ai#4856), and one that nobody asked for is read too', async (t) => {
  for (const isWhole of [true, false]) {
    const { baseUrl, requests } = await startReplay(t, whole, openai.text);
    const { cities } = await playAgent(chatModel({ model: 'm', baseUrl, ...(isWhole && { stream: false }) }));
    t.deepEqual(cities, ['Paris']);
    t.is(requests[0]?.body.stream, !isWhole);
    t.is('stream_options' in (requests[0]?.body ?? {}), !isWhole);
  }
});

/** Failures, each told from the others by what callers read, and by what is logged (earendil-works/pi#5793). */
for (const [title, reply, expected] of [
  [
    'an error event',
    stream(chunk({ content: 'Half' }), { error: { message: 'pineapple', code: 'server_error' } }),
    { reason: 'provider_error', message: 'the model ended its answer with an error', cause: /server_error: pineapple/ },
  ],
  [
    'an end by error (openclaude#1174)',
    stream(chunk({ content: 'Half' }), chunk({}, 'error')),
    { reason: 'provider_error', message: 'the model ended its answer with an error', cause: /undefined/ },
  ],
  [
    'JSON that is an error',
    { ...refused(200, { error: { message: 'pineapple', type: 'server_error' } }), status: 200 },
    { reason: 'provider_error', message: 'the model ended its answer with an error', cause: /server_error: pineapple/ },
  ],
  [
    'a wrong path',
    refused(404, { detail: 'Not Found: pineapple' }),
    { reason: 'not_found', message: 'the model is not there (404): check model and baseUrl', cause: /pineapple/ },
  ],
  [
    'another page',
    { type: 'text/html', body: '<html>Welcome</html>' },
    {
      reason: 'unreadable',
      message: 'the answer of the model could not be read: check baseUrl',
      cause: /no answer of chat completions, but text\/html/,
    },
  ],
  [
    'a refused request',
    refused(400, { error: { message: 'max_tokens pineapple', type: 'invalid_request_error', param: 'max_tokens' } }),
    {
      reason: 'refused_by_provider',
      message: 'the model refused the parameter max_tokens (400)',
      cause: /invalid_request_error: max_tokens: max_tokens pineapple/,
    },
  ],
  [
    'JSON that breaks off',
    { body: 'data: {"choices":[{"delta"\n\n' },
    { reason: 'unreadable', message: 'the answer of the model could not be read', cause: /undefined/ },
  ],
  [
    'a stream that just stops',
    { body: `data: ${JSON.stringify(chunk({ content: 'Half' }))}\n\n` },
    { reason: 'cut_off', message: 'the model broke off its answer', cause: /the stream ended without a finish reason/ },
  ],
] as const satisfies readonly (readonly [string, Reply, object])[])
  test(`${title} is told from other failures`, async (t) => {
    const { baseUrl } = await startReplay(t, reply);
    const error = await t.throwsAsync(answerOf(chatModel({ model: 'm', baseUrl, apiKey: 'sk-very-secret' })), {
      message: expected.message,
    });
    t.like(error, { reason: expected.reason });
    t.regex(String(error.cause), expected.cause);
    t.notRegex(`${error.message}${String(error.cause)}`, /secret|127\.0\.0\.1/);
  });

test('a server that is not there, and one that hangs up, are told apart by the code in the log', async (t) => {
  const server = createServer((request) => request.socket.destroy());
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const baseUrl = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/v1`;
  const message = 'the model cannot be reached: check baseUrl';
  const hungUp = await t.throwsAsync(answerOf(chatModel({ model: 'm', baseUrl })), { message });
  t.is(hungUp.cause, 'UND_ERR_SOCKET');
  await new Promise((closed) => server.close(closed));
  const absent = await t.throwsAsync(answerOf(chatModel({ model: 'm', baseUrl })), { message });
  t.is(absent.cause, 'ECONNREFUSED');
});

test('a redirect is not followed: the key and the conversation stay with the address that was given', async (t) => {
  const elsewhere = await startReplay(t, openai.text);
  const server = createServer((request, response) =>
    response.writeHead(308, { location: `${elsewhere.baseUrl}${request.url ?? ''}` }).end(),
  );
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  t.teardown(() => server.close());
  const baseUrl = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/v1`;
  const error = await t.throwsAsync(answerOf(chatModel({ model: 'm', baseUrl })), {
    message: 'the model is not there (308): check model and baseUrl',
  });
  t.like(error, { reason: 'not_found' });
  t.is(elsewhere.requests.length, 0);
});

test('an answer whose connection breaks behind its end is whole', async (t) => {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'content-length': '9999' });
    response.write(openai.text.body.replace('data: [DONE]\n\n', ''), () => setImmediate(() => response.destroy()));
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  t.teardown(() => server.close());
  const parts = await answerOf(
    chatModel({ model: 'm', baseUrl: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/v1` }),
  );
  t.is(joined(parts, 'text'), 'Hello');
  t.is(finishOf(parts), 'stop');
});
test('the reasoning beside a call goes back in its member (earendil-works/pi#3636, openhuman#3094, crewAI#5878)', async (t) => {
  const { baseUrl, requests } = await startReplay(t, deepseek.calls, deepseek.text);
  const options: ChatModelOptions = { model: 'm', baseUrl };
  await playAgent(chatModel(options));
  const assistant = requests[1]?.body.messages.find(({ role }) => role === 'assistant');
  t.like(assistant, { reasoning_content: 'Both.' });
  t.is((assistant?.['tool_calls'] as readonly unknown[]).length, 2);
});
